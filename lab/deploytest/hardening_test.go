package deploytest

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func composeText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(File("docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEveryComposeServiceIsHardened(t *testing.T) {
	var c struct {
		Services map[string]struct {
			ReadOnly    bool     `yaml:"read_only"`
			CapDrop     []string `yaml:"cap_drop"`
			CapAdd      []string `yaml:"cap_add"`
			SecurityOpt []string `yaml:"security_opt"`
			Privileged  bool
		}
	}
	readYAML(t, "docker-compose.yml", &c)
	added := map[string][]string{}
	for name, s := range c.Services {
		if !s.ReadOnly || s.Privileged || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Equal(s.SecurityOpt, []string{"no-new-privileges:true"}) {
			t.Errorf("%s: %+v", name, s)
		}
		if len(s.CapAdd) > 0 {
			added[name] = s.CapAdd
		}
	}
	if diff := cmp.Diff(map[string][]string{"nginx": {"CHOWN", "SETGID", "SETUID", "KILL"}}, added); diff != "" {
		t.Errorf("added capabilities (-want +got):\n%s", diff)
	}
}

// demanded lists the variables without which Compose refuses to start.
func demanded(t *testing.T) []string {
	t.Helper()
	names := map[string]bool{}
	for _, m := range regexp.MustCompile(`\$\{([A-Z_]+):\?run scripts/compose-env\.sh\}`).FindAllStringSubmatch(composeText(t), -1) {
		names[m[1]] = true
	}
	if len(names) < 6 {
		t.Fatalf("docker-compose.yml demands only %v", names)
	}
	return slices.Sorted(maps.Keys(names))
}

func TestComposeHasNoLiteralPasswords(t *testing.T) {
	for name, s := range readCompose(t).Services {
		for variable, value := range s.Environment {
			if regexp.MustCompile(`PASS|SECRET|TOKEN`).MatchString(variable) && !regexp.MustCompile(`^\$\{[A-Z_]+:(\?run scripts/compose-env\.sh|-)\}$`).MatchString(value) {
				t.Errorf("%s has a literal %s", name, variable)
			}
			if m := regexp.MustCompile(`://[^:/@]*:([^@]*)@`).FindStringSubmatch(value); m != nil && !strings.HasPrefix(m[1], "${") {
				t.Errorf("%s has a password in %s", name, variable)
			}
		}
	}
}

func TestComposeDatabaseRolesAreNoSuperusers(t *testing.T) {
	c := readCompose(t)
	admin := c.Services["postgres"].Environment["POSTGRES_USER"]
	for name, s := range c.Services {
		if name == "postgres" {
			continue
		}
		if s.Environment["DATA_SOURCE_USER"] == admin || strings.Contains(s.Environment["DATABASE_URL"], "://"+admin+":") {
			t.Errorf("%s connects as the superuser", name)
		}
	}
	if !slices.Contains(c.Services["postgres"].Volumes, "./deploy/postgres/roles.sql:/docker-entrypoint-initdb.d/roles.sql:ro") {
		t.Error("postgres does not run roles.sql")
	}
	sql, err := os.ReadFile(File("deploy/postgres/roles.sql"))
	if err != nil {
		t.Fatal(err)
	}
	roles := regexp.MustCompile(`(?m)^CREATE ROLE (\w+) LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE .*;$`).FindAllStringSubmatch(string(sql), -1)
	if len(roles) != 2 || roles[0][1] != "tandian" || roles[1][1] != c.Services["postgres-exporter"].Environment["DATA_SOURCE_USER"] {
		t.Errorf("roles: %q", roles)
	}
	for _, m := range regexp.MustCompile(`(?m)^\\getenv \w+ (\w+)`).FindAllStringSubmatch(string(sql), -1) {
		if c.Services["postgres"].Environment[m[1]] == "" {
			t.Errorf("postgres has no %s", m[1])
		}
	}
}

func generate(t *testing.T, dir string, env ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), File("scripts/compose-env.sh"))
	cmd.Env = append(append(os.Environ(), "COMPOSE_ENV_DIR="+dir), env...)
	return cmd.CombinedOutput()
}

// A failed run leaves no files, which would stop the next one from beginning.
func TestFailedGenerationLeavesNothing(t *testing.T) {
	for tool, script := range map[string]string{
		"awk": "exit 1",                                                                                // of deploy/redis/password
		"cat": `[ $# -gt 0 ] || exit 1; while IFS= read -r line; do printf '%s\n' "$line"; done <"$1"`, // of .env
	} {
		t.Run(tool, func(t *testing.T) {
			dir, bin := t.TempDir(), t.TempDir()
			if err := os.WriteFile(filepath.Join(bin, tool), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil { //nolint:gosec // a program
				t.Fatal(err)
			}
			if out, err := generate(t, dir, "PATH="+bin+":"+os.Getenv("PATH")); err == nil {
				t.Fatalf("it succeeds: %s", out)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
				t.Errorf("left: %v, %v", left, err)
			}
			if out, err := generate(t, dir); err != nil {
				t.Errorf("the next run: %v\n%s", err, out)
			}
		})
	}
}

func TestComposePasswordsAreGeneratedOnce(t *testing.T) {
	dir := t.TempDir()
	if out, err := generate(t, dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file := filepath.Join(dir, ".env")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of .env is %v", info.Mode())
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^([A-Z_]+)=([0-9a-f]{48})$`).FindAllStringSubmatch(string(before), -1) {
		values[m[1]] = m[2]
	}
	if diff := cmp.Diff(demanded(t), slices.Sorted(maps.Keys(values))); diff != "" {
		t.Errorf("variables (-demanded +generated):\n%s", diff)
	}
	distinct := map[string]bool{}
	for _, v := range values {
		distinct[v] = true
	}
	if len(distinct) != len(values) {
		t.Error("two passwords are equal")
	}
	acl, err := os.ReadFile(filepath.Join(dir, "users.local.acl"))
	if err != nil {
		t.Fatal(err)
	}
	for user, variable := range map[string]string{"tandian": "TANDIAN_REDIS_PASSWORD", "exporter": "TANDIAN_EXPORTER_REDIS_PASSWORD"} {
		if want := fmt.Sprintf("\nuser %s on #%x ", user, sha256.Sum256([]byte(values[variable]))); !strings.Contains(string(acl), want) {
			t.Errorf("users.local.acl has no %q", want)
		}
	}
	public, err := os.ReadFile(File("deploy/redis/users.acl"))
	if err != nil {
		t.Fatal(err)
	}
	hashes := regexp.MustCompile(`#[0-9a-f]{64}`)
	if known := hashes.FindAllString(string(public), -1); len(known) == 0 {
		t.Error("users.acl has no hashes")
	} else if left := hashes.FindAllString(string(acl), -1); len(left) != 2 || slices.Contains(known, left[0]) || slices.Contains(known, left[1]) {
		t.Errorf("users.local.acl has the hashes %v, want two of its own", left)
	}
	for _, name := range []string{".env", "users.local.acl"} {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, "kept")); err != nil {
			t.Fatal(err)
		}
		if out, err := generate(t, dir); err == nil {
			t.Errorf("a second run succeeds without %s: %s", name, out)
		}
		if err := os.Rename(filepath.Join(dir, "kept"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("a second run changed .env: %v", err)
	}
}

func TestGeneratedFilesStayOutOfTheRepository(t *testing.T) {
	for ignore, lines := range map[string][]string{
		".gitignore": {"/.env", "/deploy/redis/users.local.acl"}, ".dockerignore": {"**/.env", "**/users.local.acl"},
	} {
		text, err := os.ReadFile(File(ignore))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if !slices.Contains(strings.Split(string(text), "\n"), line) {
				t.Errorf("%s has no line %s", ignore, line)
			}
		}
	}
}
