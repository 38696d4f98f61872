package clients

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRunFailsUnlessAllTestsPass(t *testing.T) {
	node := Node(t, ".")
	tests := []struct {
		name, program string
		good          bool
	}{
		{"passes", `test('x', () => {})`, true},
		{"fails", `test('x', () => {}); test('y', () => { throw new Error('no') })`, false},
		{"skips a test", `test('x', () => {}); test.skip('y', () => {})`, false},
		{"never ends", `test('x', () => {}); test('y', () => new Promise(() => {}))`, false},
		{"no test", ``, false},
		{"error outside of tests", `test('x', () => {}); throw new Error('no')`, false},
		{"early exit", `test('x', () => {}); process.exit(0)`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "program.mjs")
			if err := os.WriteFile(program, []byte("import { test } from 'node:test'\n"+tt.program), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := node.run(t.Context(), program, nil); (err == nil) != tt.good {
				t.Errorf("got error %v, want success %v\n%s", err, tt.good, out)
			}
		})
	}
}
