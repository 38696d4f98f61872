package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const commitScript = "scripts/commit-subjects.sh"

// A repo is a temporary git repository.
type repo struct {
	t   *testing.T
	dir string
}

func (r repo) git(args ...string) {
	r.t.Helper()
	if out, err := r.run("git", args...); err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (r repo) run(name string, args ...string) (string, error) {
	cmd := exec.CommandContext(r.t.Context(), name, args...) //nolint:gosec // built from constants
	cmd.Dir = r.dir
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "GIT_") {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r repo) check(args ...string) (string, error) {
	return r.run(filepath.Join(r.dir, commitScript), args...)
}

func (r repo) write(file, text string, mode os.FileMode) {
	r.t.Helper()
	file = filepath.Join(r.dir, file)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		r.t.Fatal(err)
	}
}

func (r repo) commit(subject string) {
	r.git("commit", "--quiet", "--allow-empty", "--message", subject)
}

// clone returns a clone of the branch main.
func (r repo) clone(args ...string) repo {
	r.t.Helper()
	dir := filepath.Join(r.t.TempDir(), "clone")
	r.git(append([]string{"clone", "--quiet", "--branch", "main", "--single-branch"}, append(args, "file://"+r.dir, dir)...)...)
	return repo{r.t, dir}
}

// newRepo returns a repository with a commit older than the rule, and one that adds the script.
func newRepo(t *testing.T) repo {
	t.Helper()
	r := repo{t, t.TempDir()}
	r.git("init", "--quiet", "--initial-branch", "main")
	r.write("internal/kit/cache/cache.go", "package cache\n", 0o600)
	r.git("add", ".")
	r.commit("An old subject.")
	r.write(commitScript, pageText(t, commitScript), 0o700)
	r.git("add", ".")
	r.commit("scripts: check subjects")
	return r
}

func TestCommitSubjects(t *testing.T) {
	r := newRepo(t)
	for _, tt := range []struct{ name, subject, want string }{
		{"package", "cache: read from replicas", ""},
		{"path", "kit/cache: read from replicas", ""},
		{"several", "cache, scripts: rename page", ""},
		{"other areas", "deps: update gqlgen to 0.18", ""},
		{"verb in ed", "cache: embed the script", ""},
		{"72 characters", "cache: add " + strings.Repeat("ä", 61), ""},
		{"73 characters", "cache: add " + strings.Repeat("a", 62), "73 characters"},
		{"no area", "Read from replicas", `want "area: imperative"`},
		{"unknown area", "store: read from replicas", `unknown area "store"`},
		{"part of an area", "ache: read from replicas", `unknown area "ache"`},
		{"one unknown area", "cache, store: read", `unknown area "store"`},
		{"capital", "cache: Read from replicas", "lower-case verb"},
		{"full stop", "cache: read from replicas.", "full stop"},
		{"past", "cache: added replicas", "imperative"},
		{"present", "cache: reads from replicas", "imperative"},
		{"gerund", "cache: reading from replicas", "imperative"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r.t = t
			r.commit(tt.subject)
			out, err := r.check("HEAD^")
			if (err != nil) != (tt.want != "") || !strings.Contains(out, tt.want) {
				t.Errorf("got %v, %s, want %q", err, out, tt.want)
			}
		})
	}
}

func TestCommitSubjectsOfARemovedDirectory(t *testing.T) {
	r := newRepo(t)
	r.git("mv", "internal/kit/cache", "internal/kit/store")
	r.commit("cache: rename to store")
	r.commit("store: add keys")
	if out, err := r.check(); err != nil {
		t.Errorf("got %v, %s", err, out)
	}
}

func TestCommitSubjectsFindTheirBase(t *testing.T) {
	r := newRepo(t)
	r.commit("cache: read")
	check := func(r repo, want string) {
		t.Helper()
		out, err := r.check()
		if failed := strings.Contains(want, " of "); (err != nil) != failed || !strings.Contains(out, want) {
			t.Errorf("got %v, %s, want %q", err, out, want)
		}
	}
	check(r, "checked 2 ") // of main, since the script
	clone := r.clone()
	check(clone, "checked 2 ")
	check(r.clone("--depth", "1"), "checked 1 ")
	r.git("switch", "--quiet", "--create", "forked", "HEAD~2")
	r.commit("Older than the rule")
	r.git("switch", "--quiet", "main")
	r.git("merge", "--quiet", "--no-edit", "forked")
	check(r, "checked 2 ")

	clone.commit("Bad")
	check(clone, "1 of 1 ") // since origin/main
	r.git("switch", "--quiet", "--create", "branch")
	r.commit("Bad")
	r.commit("cache: write")
	check(r, "1 of 2 ") // since main
	if out, err := r.check("no-such-base"); err == nil {
		t.Errorf("got %s, want an error for an unknown base", out)
	}
}
