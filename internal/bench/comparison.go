package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// modulePath stands in the go.mod of a checkout.
const modulePath = "module github.com/tandian-dev/tandian"

// comparison is a program of bench/cmd. Those are a module of their own, whose
// libraries the server does not need.
type comparison struct {
	program string
	args    []string
	env     []string // what is secret is not among the arguments, which every user of the machine can read
}

// beside measures our own rows and then runs the comparison: of the tables named
// by only, between commas, "ours" is our own and the others are the comparison's;
// "" is all. In a checkout, looked for from dir upwards, the comparison is built and
// run as a child; elsewhere beside says that it is not there. Progress and errors of
// the child go to progress.
func beside(ctx context.Context, only, dir string, ours func() error, c comparison, out, progress io.Writer) error {
	tables := strings.FieldsFunc(only, func(r rune) bool { return r == ',' || r == ' ' })
	others := slices.DeleteFunc(slices.Clone(tables), func(table string) bool { return table == "ours" })
	if len(tables) == 0 || len(others) < len(tables) {
		if err := ours(); err != nil {
			return err
		}
	}
	if len(tables) > 0 && len(others) == 0 {
		return nil
	}
	root, ok := checkout(dir)
	if !ok {
		_, err := fmt.Fprintln(out, "The comparison with other schemes and libraries needs a checkout of Tandian and Go: run this command in one.")
		return err
	}
	c.args = append(c.args, "--only", strings.Join(others, ","))
	return c.run(ctx, filepath.Join(root, "bench"), out, progress)
}

// checkout finds the root of a checkout that has the comparison, from dir
// upwards.
func checkout(dir string) (root string, ok bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && isOurs(string(text)) {
			_, err := os.Stat(filepath.Join(dir, "bench", "go.mod"))
			return dir, err == nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}

func isOurs(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(first) == modulePath
}

// run builds the program and runs it. Building and running are two steps so that
// an interrupt reaches the program and not only the go command.
func (c comparison) run(ctx context.Context, dir string, out, progress io.Writer) error {
	temp, err := os.MkdirTemp("", "tandian-bench")
	if err != nil {
		return fmt.Errorf("make a directory for the comparison: %w", err)
	}
	defer func() { _ = os.RemoveAll(temp) }()
	program := filepath.Join(temp, c.program+".exe") // the name that also Windows can run
	build := child(ctx, dir, "go", "build", "-o", program, "./cmd/"+c.program)
	build.Stdout, build.Stderr = progress, progress
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the comparison: %w", err)
	}
	compare := child(ctx, dir, program, c.args...)
	compare.Stdout, compare.Stderr = out, progress
	compare.Env = append(os.Environ(), c.env...)
	if err := compare.Run(); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("run the comparison: %w", err))
	}
	return nil
}

// child is a program that is asked to end with ctx, and ended if it does not.
func child(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// stores are the environment in which the comparison finds them; "" is none.
func stores(redisURL, databaseURL string) (env []string) {
	if redisURL != "" {
		env = append(env, "BENCH_REDIS_URL="+redisURL)
	}
	if databaseURL != "" {
		env = append(env, "BENCH_DATABASE_URL="+databaseURL)
	}
	return env
}
