package clients

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOnlyAProgramWhoseTestsAllPassedIsGood(t *testing.T) {
	node := Node(t, ".")
	tests := []struct {
		name, program string
		good          bool
	}{
		{"a test that passes", `test('x', () => {})`, true},
		{"a test that fails", `test('x', () => {}); test('y', () => { throw new Error('no') })`, false},
		{"a test that is skipped", `test('x', () => {}); test.skip('y', () => {})`, false},
		{"a test that never ends", `test('x', () => {}); test('y', () => new Promise(() => {}))`, false},
		{"no test", ``, false},
		{"an error outside of tests", `test('x', () => {}); throw new Error('no')`, false},
		{"an early end", `test('x', () => {}); process.exit(0)`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "program.mjs")
			if err := os.WriteFile(program, []byte("import { test } from 'node:test'\n"+tt.program), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := node.run(t.Context(), program, nil); (err == nil) != tt.good {
				t.Errorf("error %v, want good: %v\n%s", err, tt.good, out)
			}
		})
	}
}
