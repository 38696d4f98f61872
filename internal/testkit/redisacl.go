package testkit

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// AdminUser is a user with all permissions on every test Redis. Tests use it through [RedisAdmin]
// to control their servers. It has no password.
const AdminUser = "admin"

// RedisAdmin returns the address of a test Redis, from [Redis] or [RedisCluster], for [AdminUser].
// Without a user, an address gives the permissions of a production server.
func RedisAdmin(tb testing.TB, address string) string {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatalf("address of a Redis: %v", err)
	}
	u.User = url.UserPassword(AdminUser, "any")
	return u.String()
}

// RedisAsServer returns the address of a test Redis for the user tandian of deploy/redis/users.acl,
// with the same restriction to keys and channels.
func RedisAsServer(tb testing.TB, address string) string {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatalf("address of a Redis: %v", err)
	}
	u.User = url.UserPassword("tandian", "tandian")
	return u.String()
}

// writeACL writes the access rules of a test Redis into dir and returns the server options that
// load them. The default user has the command permissions of the user tandian in
// deploy/redis/users.acl. It may use all keys, because tests have their own prefixes.
func writeACL(dir string) (options []string, err error) {
	root, err := root()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, "deploy", "redis", "users.acl"))
	if err != nil {
		return nil, err
	}
	var known strings.Builder // copied lines
	var rights []string
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) > 2 && words[1] == "exporter" { // copied: the metrics exporter
			known.WriteString(line)
		}
		if len(words) > 2 && words[1] == "tandian" {
			known.WriteString(line)
			for _, word := range words[2:] {
				if strings.HasPrefix(word, "+") || strings.HasPrefix(word, "-") {
					rights = append(rights, word)
				}
			}
		}
	}
	if len(rights) == 0 {
		return nil, errors.New("read deploy/redis/users.acl: no permissions of the user tandian")
	}
	file := filepath.Join(dir, "users.acl")
	acl := "user default on nopass ~* &* " + strings.Join(rights, " ") + "\n" +
		"user " + AdminUser + " on nopass ~* &* +@all\n" + known.String()
	return []string{"--aclfile", file, "--masteruser", AdminUser, "--masterauth", "any"}, os.WriteFile(file, []byte(acl), 0o600)
}

// AdminClient returns a client of the same test Redis as rdb, a server or a cluster, with all
// permissions. It is closed with the test.
func AdminClient(tb testing.TB, rdb redis.UniversalClient) (admin redis.UniversalClient) {
	tb.Helper()
	switch c := rdb.(type) {
	case *redis.Client:
		o := *c.Options()
		o.Username, o.Password, o.OnConnect = AdminUser, "any", nil
		admin = redis.NewClient(&o)
	case *redis.ClusterClient:
		o := *c.Options()
		o.Username, o.Password, o.OnConnect = AdminUser, "any", nil
		admin = redis.NewClusterClient(&o)
	default:
		tb.Fatalf("unknown client type %T", rdb)
	}
	tb.Cleanup(func() { _ = admin.Close() })
	return admin
}
