package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The linter forbids methods of the Redis client by name (.golangci.yml). These tests check
// calls that depend on arguments, and Lua scripts.

// banned returns the commands that code must not send by Do, which bypasses the linter.
func banned() []string {
	return strings.Fields(`KEYS FLUSHALL FLUSHDB SELECT SWAPDB MOVE MONITOR DEBUG SHUTDOWN SAVE BGSAVE BGREWRITEAOF REPLICAOF SLAVEOF
		CONFIG SORT SORT_RO HGETALL HKEYS HVALS SMEMBERS LRANGE ZRANGE XRANGE XREVRANGE DEL EVAL SCRIPT FUNCTION`)
}

// redisProblem returns the problem of a call, or "".
func redisProblem(call *ast.CallExpr) string {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	arg := func(i int) string {
		if i >= len(call.Args) {
			return ""
		}
		return expression(call.Args[i])
	}
	switch name := method.Sel.Name; name {
	case "LRange", "ZRange", "ZRangeWithScores", "ZRevRange", "ZRevRangeWithScores":
		if arg(2) == "0" && arg(3) == "-1" {
			return name + " reads a whole collection: pass an upper bound"
		}
	case "Do":
		if len(call.Args) < 2 { // not of Redis, but for example of http.Client
			return ""
		}
		word := strings.ToUpper(strings.Trim(arg(1), "\"`"))
		if !strings.HasPrefix(arg(1), `"`) {
			return "Do needs a literal command name"
		}
		if slices.Contains(banned(), word) {
			return "Do sends " + word
		}
	}
	return ""
}

// expression returns a literal number or string as written, or "?".
func expression(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Value
	case *ast.UnaryExpr:
		return e.Op.String() + expression(e.X)
	}
	return "?"
}

func TestRedisProblemsOfCalls(t *testing.T) {
	tests := []struct{ name, call, want string }{
		{"whole list", `rdb.LRange(ctx, key, 0, -1)`, "LRange reads"},
		{"part of a list", `rdb.LRange(ctx, key, 0, 99)`, ""},
		{"list without its first member", `rdb.LRange(ctx, key, 1, -1)`, ""},
		{"whole sorted set", `p.ZRangeWithScores(ctx, key, 0, -1)`, "ZRangeWithScores reads"},
		{"computed bound", `p.ZRange(ctx, key, 0, n-1)`, ""},
		{"KEYS by Do", `rdb.Do(ctx, "keys", "*")`, "Do sends KEYS"},
		{"CONFIG by Do", `rdb.Do(ctx, "CONFIG", "SET", "x", "y")`, "Do sends CONFIG"},
		{"computed command", `rdb.Do(ctx, words...)`, "literal command name"},
		{"allowed command by Do", `pipe.Do(ctx, "ZMSCORE", key, "built")`, ""},
		{"HTTP request", `client.Do(req)`, ""},
		{"other call", `f(ctx, key, 0, -1)`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := parser.ParseExpr(tt.call)
			if err != nil {
				t.Fatal(err)
			}
			if got := redisProblem(e.(*ast.CallExpr)); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") { //nolint:forcetypeassert // all are calls
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// redisImporters returns the directories of packages that import go-redis.
func redisImporters(t *testing.T) map[string]bool {
	importers := map[string]bool{}
	for _, path := range files(t, ".go") {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return strings.HasPrefix(i.Path.Value, `"`+goRedis) }) {
			importers[filepath.Dir(path)] = true
		}
	}
	return importers
}

func TestNoCallReadsARedisCollectionWhole(t *testing.T) {
	calls, importers := 0, redisImporters(t)
	for _, path := range files(t, ".go") {
		if !importers[filepath.Dir(path)] || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testkit/") || strings.Contains(path, "/cachebench/") || strings.Contains(path, "/faulttest/") { // these damage their own Redis
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				calls++
				if why := redisProblem(call); why != "" {
					t.Errorf("%v: %s", set.Position(call.Pos()), why)
				}
			}
			return true
		})
	}
	if calls < 1000 {
		t.Errorf("got %d calls, want at least 1000", calls)
	}
}

// luaCommands returns the commands that a script may call. Each costs O(1), O(log n) or an amount
// that its arguments bound.
func luaCommands() []string {
	return append(strings.Fields(`EXISTS TYPE PTTL TTL PEXPIRE PEXPIREAT EXPIRE PERSIST UNLINK RENAME RENAMENX TIME
		GET MGET SET GETEX INCR INCRBY DECR DECRBY STRLEN GETBIT SETBIT BITFIELD PFADD
		HGET HMGET HSET HSETNX HDEL HINCRBY HEXISTS HLEN
		ZADD ZREM ZCARD ZSCORE ZMSCORE ZINCRBY ZRANK ZREVRANK ZPOPMIN ZPOPMAX ZREMRANGEBYRANK ZRANGE ZCOUNT GEOADD GEOSEARCH
		SADD SREM SCARD SISMEMBER SMISMEMBER LPUSH RPUSH LPOP RPOP LLEN LTRIM
		XADD XLEN XACK XDEL XPENDING XTRIM XREVRANGE PUBLISH`),
		"XINFO CONSUMERS", "XGROUP DELCONSUMER", // O(consumers of a group)
		"XINFO GROUPS") // O(groups): one
}

// luaDel lists the scripts that may call DEL, and their small values, for which UNLINK gains
// nothing.
func luaDel() map[string]string {
	return map[string]string{
		"internal/kit/cache/lua/": "a record of 16 KB at most, a lease",
		"internal/account/lua/":   "hashes of 22 fields at most, counters",
	}
}

var (
	luaCall    = regexp.MustCompile(`redis\.p?call\s*\(([^)]*)`)
	luaLiteral = regexp.MustCompile(`^\s*'([A-Z]+)'(?:\s*,\s*'([A-Z]+)')?\s*(?:,\s*([^,]*))?`)
	luaMention = regexp.MustCompile(`redis\.p?call|redis\.setresp|redis\.replicate_commands|loadstring|KEYS\s*=[^=]`)
)

// luaProblems returns the problems of a script.
func luaProblems(path, text string) (problems []string) {
	header, body := "", ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "--") {
			if body == "" {
				header += line
			}
			continue
		}
		body += line
	}
	for _, part := range []string{"KEYS[1]", "returns"} {
		if !strings.Contains(header, part) {
			problems = append(problems, "header without "+part)
		}
	}
	calls := luaCall.FindAllStringSubmatch(body, -1)
	if mentions := luaMention.FindAllString(body, -1); len(mentions) != len(calls) {
		problems = append(problems, fmt.Sprintf("mentions %q but calls %d commands by redis.call(…)", mentions, len(calls)))
	}
	for _, call := range calls {
		m := luaLiteral.FindStringSubmatch(call[1])
		if m == nil {
			problems = append(problems, "command of redis.call("+call[1]+" is no literal in capitals")
			continue
		}
		command, key := strings.TrimSpace(m[1]+" "+m[2]), m[3]
		if !slices.Contains(luaCommands(), command) && (command != "DEL" || !mayDel(path)) {
			problems = append(problems, command+" is not on the list of commands for scripts")
		}
		if strings.Contains(key, "..") || strings.ContainsAny(key, `'"`) || strings.HasPrefix(key, "ARGV") {
			problems = append(problems, command+" takes its key from "+key+", not from KEYS")
		}
	}
	return problems
}

func mayDel(path string) bool {
	for dir := range luaDel() {
		if strings.Contains(filepath.ToSlash(path), dir) {
			return true
		}
	}
	return false
}

func TestLuaProblems(t *testing.T) {
	const head = "-- take: take one.\n--\n-- KEYS[1]  stock\n-- returns  1\n"
	tests := []struct{ name, path, text, want string }{
		{"valid", "internal/sale/lua/a.lua", head + "return redis.call('DECR', KEYS[1])", ""},
		{"call in a comment", "internal/sale/lua/a.lua", head + "-- redis.call('KEYS', '*')\nreturn 1", ""},
		{"KEYS", "internal/sale/lua/a.lua", head + "return redis.call('KEYS', KEYS[1])", "KEYS is not on the list"},
		{"HGETALL by pcall", "internal/sale/lua/a.lua", head + "return redis.pcall('HGETALL', KEYS[1])", "HGETALL is not on the list"},
		{"DEL", "internal/sale/lua/a.lua", head + "redis.call('DEL', KEYS[1])", "DEL is not on the list"},
		{"DEL of a small value", "../../internal/kit/cache/lua/a.lua", head + "redis.call('DEL', KEYS[1])", ""},
		{"lower case", "internal/sale/lua/a.lua", head + "redis.call('keys', KEYS[1])", "no literal in capitals"},
		{"computed command", "internal/sale/lua/a.lua", head + "redis.call(ARGV[1], KEYS[1])", "no literal in capitals"},
		{"alias of call", "internal/sale/lua/a.lua", head + "local c = redis.call\nc('KEYS', '*')", "but calls 0 commands"},
		{"computed key", "internal/sale/lua/a.lua", head + "redis.call('GET', 'stock:' .. ARGV[1])", "not from KEYS"},
		{"key with a suffix", "internal/sale/lua/a.lua", head + "redis.call('GET', KEYS[1] .. ':l')", "not from KEYS"},
		{"key from ARGV", "internal/sale/lua/a.lua", head + "redis.call('GET', ARGV[1])", "not from KEYS"},
		{"listed subcommand", "internal/sale/lua/a.lua", head + "redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1])", ""},
		{"unlisted subcommand", "internal/sale/lua/a.lua", head + "redis.call('XGROUP', 'DESTROY', KEYS[1], ARGV[1])", "XGROUP DESTROY is not on the list"},
		{"literal key", "internal/sale/lua/a.lua", head + "redis.call('GET', 'STOCK')", "is not on the list"},
		{"key of a loop", "internal/sale/lua/a.lua", head + "for _, key in ipairs(KEYS) do redis.call('UNLINK', key) end", ""},
		{"no key", "internal/sale/lua/a.lua", head + "return redis.call('TIME')", ""},
		{"no header", "internal/sale/lua/a.lua", "return redis.call('DECR', KEYS[1])", "header without KEYS[1]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(luaProblems(tt.path, tt.text), "; ")
			if !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestScriptsCallListedCommandsOnTheirKeys(t *testing.T) {
	scripts := files(t, ".lua")
	if len(scripts) < 18 {
		t.Errorf("got %d scripts, want at least 18", len(scripts))
	}
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range luaProblems(path, string(text)) {
			t.Errorf("%s: %s", path, problem)
		}
	}
}

// files returns the files of internal, graph and lab with an extension. It skips generated code,
// test data, npm packages and the candidates that the lab compares.
func files(t *testing.T, extension string) (paths []string) {
	t.Helper()
	for _, dir := range []string{"../../internal", "../../graph", "../../lab"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && slices.Contains([]string{"node_modules", "testdata", "generated", "dist", "compare"}, entry.Name()):
				return filepath.SkipDir
			case filepath.Ext(path) == extension:
				paths = append(paths, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return paths
}
