package testbed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// StoresCPU holds the CPU time of Redis and PostgreSQL so far. That of PostgreSQL is 0 without
// /proc.
type StoresCPU struct{ Redis, Postgres time.Duration }

// Since returns the CPU time since before.
func (c StoresCPU) Since(before StoresCPU) StoresCPU {
	return StoresCPU{c.Redis - before.Redis, c.Postgres - before.Postgres}
}

var usedCPU = regexp.MustCompile(`(?m)^used_cpu_(?:sys|user):([0-9.]+)`) //nolint:gochecknoglobals // a constant that Go cannot say

// CPUOfStores reads the CPU time of both stores.
func CPUOfStores(ctx context.Context, rdb redis.UniversalClient, db *sqldb.SQL) (c StoresCPU, err error) {
	if c.Redis, err = usedByRedis(ctx, rdb); err != nil {
		return c, err
	}
	var backend int
	if err := db.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		return c, fmt.Errorf("read the process of PostgreSQL: %w", err)
	}
	if s, ok := statOf(strconv.Itoa(backend)); ok {
		c.Postgres = familyCPU(s.parent)
	}
	return c, nil
}

// usedByRedis returns the CPU time of a Redis.
func usedByRedis(ctx context.Context, rdb redis.UniversalClient) (used time.Duration, err error) {
	info, err := rdb.Info(ctx, "cpu").Result()
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of Redis: %w", err)
	}
	for _, found := range usedCPU.FindAllStringSubmatch(info, -1) {
		seconds, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			return 0, fmt.Errorf("parse the CPU time of Redis: %w", err)
		}
		used += time.Duration(seconds * float64(time.Second))
	}
	return used, nil
}

// clockTick is the unit of /proc.
const clockTick = 10 * time.Millisecond

// stat holds fields of /proc/PID/stat.
type stat struct {
	parent   string
	own, all time.Duration // all includes ended children
}

func statOf(pid string) (s stat, ok bool) {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return s, false
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may have spaces
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return s, false
	}
	s.parent = fields[1]
	for i, field := range fields[11:15] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return s, false
		}
		if i < 2 {
			s.own += time.Duration(n) * clockTick
		}
		s.all += time.Duration(n) * clockTick
	}
	return s, true
}

// familyCPU returns the CPU time of a process and its children.
func familyCPU(pid string) time.Duration {
	s, _ := statOf(pid)
	total := s.all
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is good
	for _, dir := range dirs {
		if child, ok := statOf(filepath.Base(dir)); ok && child.parent == pid {
			total += child.own
		}
	}
	return total
}

// MachineCPU returns the CPU time of all programs of this machine, 0 without /proc.
func MachineCPU() (busy time.Duration) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line) { // cpu, user, nice, system, idle, iowait, irq, softirq
		n, err := strconv.ParseInt(field, 10, 64)
		if err == nil && i <= 7 && i != 4 && i != 5 {
			busy += time.Duration(n) * clockTick
		}
	}
	return busy
}
