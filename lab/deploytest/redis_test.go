package deploytest

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

const adminPassword = "a password for tests"

// A production is a Redis with a file of deploy/redis and its ACL, in which the administrator has a
// password.
type production struct {
	url   string // of the user tandian
	admin *redis.Client
}

// startRedis starts a Redis from a file of deploy/redis. Options come after those of the file.
func startRedis(t *testing.T, file string, options ...string) production {
	t.Helper()
	return production{}.start(t, testkit.Redis(t, slices.Concat(
		[]string{"--include", absolute(t, "deploy/redis/"+file), "--port", "0", "--aclfile", users(t)}, options)...))
}

func (p production) start(t *testing.T, address string) production {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p.admin = redis.NewClient(&redis.Options{Network: "unix", Addr: u.Path, Username: "admin", Password: adminPassword, ReadTimeout: 30 * time.Second})
	t.Cleanup(func() { _ = p.admin.Close() })
	u.User = url.UserPassword("tandian", "tandian")
	p.url = u.String()
	return p
}

func absolute(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(File(file))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// users returns a copy of users.acl with a password of the administrator, as an operator sets it.
func users(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(File("deploy/redis/users.acl"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "users.acl")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := password(t, file, adminPassword, "admin"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

func password(t *testing.T, file, input string, args ...string) (out []byte, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), File("deploy/redis/password"), args...)
	cmd.Env = append(os.Environ(), "USERS_ACL="+file)
	cmd.Stdin = strings.NewReader(input)
	return cmd.CombinedOutput()
}

func client(t *testing.T, address string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func TestServerUserCannotHarmItsRedis(t *testing.T) {
	p := startRedis(t, "state.conf")
	rdb := client(t, p.url)
	for _, line := range []string{
		"KEYS *", "FLUSHALL", "FLUSHDB", "SWAPDB 0 0", "SELECT 0", "MONITOR", "CONFIG SET maxmemory 0", "CONFIG GET *", "CONFIG REWRITE", "DEBUG SLEEP 0",
		"SHUTDOWN NOSAVE", "ACL SETUSER tandian +@all", "ACL LIST", "ACL LOAD", "REPLICAOF NO ONE", "SAVE", "BGSAVE", "BGREWRITEAOF", "CLIENT KILL TYPE normal",
		"CLIENT PAUSE 1", "CLIENT LIST", "SLOWLOG GET", "SCRIPT FLUSH", "SCRIPT KILL", "FUNCTION FLUSH", "MIGRATE h 1 td:k 0 1", "RESTORE td:k 0 x", "SORT td:k",
		"CLUSTER RESET", "MODULE LIST", "LATENCY RESET", "PSUBSCRIBE *",
		"GET other:k", "SET other:k v", "MGET td:k other:k", "RENAME td:k other:k", "UNLINK other:k", "XREAD STREAMS other:bus 0",
		"EVAL return(redis.call('GET',KEYS[1])) 1 other:k", "PUBLISH other:feed x", "SUBSCRIBE other:feed", "SPUBLISH other:feed x",
	} {
		args := []any{}
		for word := range strings.FieldsSeq(line) {
			args = append(args, word)
		}
		err := rdb.Do(t.Context(), args...).Err()
		if args[0] == "DEBUG" && err != nil && strings.Contains(err.Error(), "DEBUG command not allowed") {
			continue // to no user
		}
		if !redis.HasErrorPrefix(err, "NOPERM") {
			t.Errorf("%s: %v, want NOPERM", line, err)
		}
	}
	// Redis also checks the calls of a script.
	for _, call := range []string{"redis.call('FLUSHALL')", "redis.call('GET', 'other:k')", "redis.call('CONFIG', 'GET', '*')"} {
		if err := rdb.Eval(t.Context(), "return "+call, nil).Err(); err == nil || !regexp.MustCompile(`can't access at least one of the keys|can't run this command|not allowed from script`).MatchString(err.Error()) {
			t.Errorf("a script's %s: %v", call, err)
		}
	}
	if err := rdb.Set(t.Context(), "td:k", "v", time.Minute).Err(); err != nil {
		t.Error(err)
	}
	// Other users are rejected; they may only PING.
	u, _ := url.Parse(p.url)
	nobody := client(t, "unix://"+u.Path)
	if err := nobody.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	if err := nobody.Get(t.Context(), "td:k").Err(); !redis.HasErrorPrefix(err, "NOPERM") {
		t.Errorf("default user: %v", err)
	}
	for _, user := range []string{"admin", "exporter", "replica", "sentinel"} {
		if err := client(t, "unix://"+user+":any@"+u.Path).Ping(t.Context()).Err(); err == nil {
			t.Errorf("%s gets in with any password", user)
		}
	}
	if err := client(t, "unix://tandian:wrong@"+u.Path).Ping(t.Context()).Err(); !redis.HasErrorPrefix(err, "WRONGPASS") {
		t.Error(err)
	}
}

func TestPasswordIsWrittenAsItsHash(t *testing.T) {
	file := users(t)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := password(t, file, "another one for tests\n", "tandian"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	hashes := regexp.MustCompile(`#[0-9a-f]{64}`)
	if a, b := hashes.ReplaceAllString(string(before), "#"), hashes.ReplaceAllString(string(after), "#"); a != b {
		t.Errorf("more than a hash changed:\n%s\n%s", a, b)
	}
	if strings.Contains(string(after), "another") {
		t.Error("the password itself is there")
	}
	p := production{}.start(t, testkit.Redis(t, "--aclfile", file))
	u, _ := url.Parse(p.url)
	u.User = url.UserPassword("tandian", "another one for tests")
	if err := client(t, u.String()).Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	for _, wrong := range []struct{ input, user string }{{"short", "tandian"}, {"", "tandian"}, {"long enough for a user", "unknown"}, {"long enough for a user", "default"}} {
		if out, err := password(t, file, wrong.input, wrong.user); err == nil {
			t.Errorf("%+v was taken: %s", wrong, out)
		}
	}
	if now, _ := os.ReadFile(file); string(now) != string(after) {
		t.Error("a refused password changed the file")
	}
}

func TestRedisAcceptsEachConfigFile(t *testing.T) {
	three4 := func(limit int64) string { return strconv.FormatInt(limit<<20*3/4, 10) }
	for file, want := range map[string]map[string]string{
		"state.conf": {"maxmemory": three4(768), "maxmemory-policy": "noeviction", "appendonly": "yes", "appendfsync": "everysec", "aof-use-rdb-preamble": "yes"},
		"cache.conf": {"maxmemory": three4(512), "maxmemory-policy": "allkeys-lfu", "appendonly": "no", "save": ""},
	} {
		maps.Copy(want, map[string]string{
			"lazyfree-lazy-eviction": "yes", "lazyfree-lazy-expire": "yes", "lazyfree-lazy-server-del": "yes", "lazyfree-lazy-user-del": "yes",
			"zset-max-listpack-entries": "512", "protected-mode": "no", "maxmemory-clients": "10%", "latency-monitor-threshold": "10",
		})
		t.Run(file, func(t *testing.T) {
			p := startRedis(t, file)
			for name, value := range want {
				if got := p.admin.ConfigGet(t.Context(), name).Val()[name]; got != value {
					t.Errorf("%s is %q, want %q", name, got, value)
				}
			}
		})
	}
	t.Run("alone, as in a container", func(t *testing.T) {
		port := testkit.FreePort(t)
		testkit.RedisProcess(t, &redis.Options{Addr: "127.0.0.1:" + port},
			absolute(t, "deploy/redis/state.conf"), "--aclfile", users(t), "--bind", "127.0.0.1", "--port", port)
	})
	t.Run("cluster.conf", func(t *testing.T) {
		p := startRedis(t, "state.conf", "--include", absolute(t, "deploy/redis/cluster.conf"), "--bind", "127.0.0.1", "--port", testkit.FreePort(t), "--cluster-port", testkit.FreePort(t))
		if info, err := p.admin.ClusterInfo(t.Context()).Result(); err != nil || !strings.Contains(info, "cluster_enabled:1") && !strings.Contains(info, "cluster_state:") {
			t.Error(info, err)
		}
		if got := p.admin.ConfigGet(t.Context(), "cluster-require-full-coverage").Val()["cluster-require-full-coverage"]; got != "no" {
			t.Errorf("full coverage is %q", got)
		}
	})
	t.Run("sentinel.conf", func(t *testing.T) {
		text, err := os.ReadFile(File("deploy/redis/sentinel.conf"))
		if err != nil {
			t.Fatal(err)
		}
		master, replica, list := testkit.FreePort(t), testkit.FreePort(t), withSentinel(t)
		start := func(port string, more ...string) production {
			return production{}.start(t, testkit.Redis(t, slices.Concat([]string{
				"--include", absolute(t, "deploy/redis/state.conf"), "--include", absolute(t, "deploy/redis/watched.conf"), "--bind", "127.0.0.1",
				"--port", port, "--aclfile", list, "--masteruser", "replica", "--masterauth", "replica-password",
			}, more)...))
		}
		start(master)
		follower := start(replica, "--replicaof", "127.0.0.1", master)
		testkit.Eventually(t, 15*time.Second, func() bool { return info(t, follower.admin, "master_link_status") == "up" })
		conf, port := filepath.Join(t.TempDir(), "sentinel.conf"), testkit.FreePort(t)
		// Host names and the port change; the rest stays.
		changed := strings.NewReplacer("tandian redis-1 6379 2", "tandian localhost "+master+" 1", "port 26379", "port "+port, "bind * -::*", "bind 127.0.0.1",
			"# sentinel auth-pass tandian PASSWORD", "sentinel auth-pass tandian sentinel-password").Replace(string(text))
		if strings.Count(changed, "\n") != strings.Count(string(text), "\n") || !strings.Contains(changed, "localhost "+master) {
			t.Fatal("sentinel.conf is another than this test knows")
		}
		if err := os.WriteFile(conf, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		testkit.RedisProcess(t, &redis.Options{Addr: "127.0.0.1:" + port}, conf, "--sentinel")
		sentinel := redis.NewSentinelClient(&redis.Options{Addr: "127.0.0.1:" + port})
		t.Cleanup(func() { _ = sentinel.Close() })
		// With the rights of its user it reads the replicas of the master, and promotes one of
		// them.
		testkit.Eventually(t, 30*time.Second, func() bool {
			m, err := sentinel.Master(t.Context(), "tandian").Result()
			return err == nil && m["flags"] == "master" && m["num-slaves"] == "1" && sentinel.Failover(t.Context(), "tandian").Err() == nil
		})
		testkit.Eventually(t, 30*time.Second, func() bool { return info(t, follower.admin, "role") == "master" })
		if denied, err := follower.admin.Do(t.Context(), "ACL", "LOG").Slice(); err != nil || len(denied) > 0 {
			t.Errorf("the new master refused %v, %v", denied, err)
		}
	})
}

// withSentinel returns users with passwords for the Sentinel and the replicas too.
func withSentinel(t *testing.T) string {
	t.Helper()
	file := users(t)
	for _, user := range []string{"sentinel", "replica"} {
		if out, err := password(t, file, user+"-password", user); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return file
}

// onFiles returns a stack on a state and a cache Redis from the files.
func onFiles(t *testing.T, cacheOptions ...string) (stack *apptest.Stack, state, cache production) {
	t.Helper()
	state, cache = startRedis(t, "state.conf"), startRedis(t, "cache.conf", cacheOptions...)
	stack = apptest.Real(t)
	stack.Config.DatabaseURL, stack.Config.RedisURL, stack.Config.RedisCacheURL = storetest.Postgres(t), state.url, cache.url
	return stack, state, cache
}

const me = `{ me { id } }`

func whoIs(t *testing.T, s *apptest.Server) string {
	t.Helper()
	var got struct{ Me *struct{ ID string } }
	if a := s.Do(t, me, nil, &got); len(a.Errors) > 0 || got.Me == nil {
		return fmt.Sprint(a.Errors)
	}
	return got.Me.ID
}

// info returns a figure of INFO.
func info(t *testing.T, rdb *redis.Client, name string) string {
	t.Helper()
	text, err := rdb.Info(t.Context(), "everything").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(text, "\r\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

func keysOf(t *testing.T, rdb *redis.Client) (all []string) {
	t.Helper()
	it := rdb.Scan(t.Context(), 0, "*", 1000).Iterator()
	for it.Next(t.Context()) {
		all = append(all, it.Val())
	}
	if err := it.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

func TestFullCacheLeavesStateUntouched(t *testing.T) {
	stack, state, cache := onFiles(t, "--maxmemory", "12mb")
	s := stack.Start(t)
	people := map[string]*apptest.Server{}
	for i := range 20 {
		as, id := s.Login(t, fmt.Sprintf("138000010%02d", i))
		people[id] = as
	}
	before := keysOf(t, state.admin)
	if len(before) < 20 {
		t.Fatalf("the state Redis has %d keys only", len(before))
	}
	full := client(t, cache.url)
	value := strings.Repeat("x", 8<<10)
	for n := 0; info(t, cache.admin, "evicted_keys") == "0" || n < 4000; n += 500 {
		if n > 100_000 {
			t.Fatal("the cache Redis does not evict")
		}
		pipe := full.Pipeline()
		for i := range 500 {
			pipe.Set(t.Context(), fmt.Sprintf("td:cache:shop:{%d}", 1_000_000+n+i), value, time.Minute)
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("the cache Redis evicted %s keys", info(t, cache.admin, "evicted_keys"))
	for id, as := range people {
		if got := whoIs(t, as); got != id {
			t.Errorf("user %s is %s", id, got)
		}
	}
	if n := info(t, state.admin, "evicted_keys"); n != "0" {
		t.Errorf("the state Redis evicted %s keys", n)
	}
	after := keysOf(t, state.admin)
	for _, key := range before {
		// Codes end with their use; locks and load marks expire.
		if strings.HasPrefix(key, "td:session:") && !slices.Contains(after, key) {
			t.Errorf("%s is lost", key)
		}
	}
	if n := s.Counter(t, "tandian_sale_evicting"); n != 0 {
		t.Error("the state Redis is reported to evict")
	}
	if out := s.Log.String(); strings.Contains(out, "NOPERM") {
		t.Errorf("something was not permitted:\n%s", out)
	}
	cleanUp(t, full)
}

// cleanUp removes the keys of the test below the prefixes of the caches.
func cleanUp(t *testing.T, rdb *redis.Client) {
	t.Helper()
	it := rdb.Scan(t.Context(), 0, "td:cache:shop:{1[0-9][0-9][0-9][0-9][0-9][0-9]}", 1000).Iterator()
	for it.Next(t.Context()) {
		if err := rdb.Unlink(t.Context(), it.Val()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFullStateRedisRejectsWritesAndKeepsData(t *testing.T) {
	stack, state, _ := onFiles(t)
	s := stack.Start(t)
	ann, id := s.Login(t, "13800001111")
	sessions := func() (n int) {
		for _, key := range keysOf(t, state.admin) {
			if strings.HasPrefix(key, "td:session:") {
				n++
			}
		}
		return n
	}
	had := sessions()
	// Client buffers are a part of that limit, of which 128 KiB would be left: Redis would close
	// connections instead of returning an out-of-memory error.
	for _, set := range [][2]string{{"maxmemory-clients", "64mb"}, {"maxmemory", "1"}} {
		if err := state.admin.ConfigSet(t.Context(), set[0], set[1]).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := client(t, state.url).Set(t.Context(), "td:x", "1", time.Minute).Err(); !redis.HasErrorPrefix(err, "OOM") {
		t.Fatalf("it is not full: %v", err)
	}
	if got := whoIs(t, ann); got != id {
		t.Errorf("signed-in user got %s", got)
	}
	a := s.Do(t, `mutation { sendLoginCode(phone: "13800002222") { expiresInSeconds } }`, nil, nil)
	if len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "UNAVAILABLE" {
		t.Errorf("code without memory for it: got errors %+v", a.Errors)
	}
	if n, evicted := sessions(), info(t, state.admin, "evicted_keys"); n < had || had == 0 || evicted != "0" {
		t.Errorf("%d of %d sessions are left, %s keys were evicted", n, had, evicted)
	}
	if err := state.admin.ConfigSet(t.Context(), "maxmemory", "576mb").Err(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Second, func() bool {
		return len(s.Do(t, `mutation { sendLoginCode(phone: "13800003333") { expiresInSeconds } }`, nil, nil).Errors) == 0
	})
}

func TestAServerRunsOverTLS(t *testing.T) {
	ca := testkit.NewCA(t)
	cert, key := ca.Sign("redis", time.Hour, "127.0.0.1")
	over := func(file string) (addr string) {
		port := testkit.FreePort(t)
		startRedis(t, file, "--include", absolute(t, "deploy/redis/tls.conf"), "--bind", "127.0.0.1", "--tls-port", port,
			"--tls-ca-cert-file", ca.File, "--tls-cert-file", cert, "--tls-key-file", key)
		return "127.0.0.1:" + port
	}
	stack := apptest.Real(t)
	stack.Config.RedisURL, stack.Config.RedisCacheURL = "rediss://tandian:tandian@"+over("state.conf"), "rediss://tandian:tandian@"+over("cache.conf")
	stack.Config.RedisCA = ca.File
	stack.Config.RedisCert, stack.Config.RedisKey = ca.Sign("server", time.Hour)
	s := stack.Start(t)
	ann, id := s.Login(t, "13800001111")
	if got := whoIs(t, ann); got != id {
		t.Error(got)
	}
	s.Recovered(t) // the bus and its watch work
	if out, errs, code := stack.Command(t, "redis", "bigkeys"); code != 0 || !strings.Contains(out, "td:session:") {
		t.Errorf("an operator's tool: %d\n%s%s", code, out, errs)
	}
}

func TestMissingRedisRightsAreReportedAtStart(t *testing.T) {
	stack, state, _ := onFiles(t)
	if err := state.admin.Do(t.Context(), "ACL", "SETUSER", "tandian", "-xautoclaim", "-xadd").Err(); err != nil {
		t.Fatal(err)
	}
	_, errs, code := stack.Command(t, "import", "../../internal/demo/shops.csv") // it opens what a server opens, and ends
	if code == 0 || !strings.Contains(errs, "the state Redis: the user lacks permissions for XADD, XAUTOCLAIM, on keys and channels td:*") {
		t.Errorf("%d: %s", code, errs)
	}
}
