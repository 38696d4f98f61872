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

// AdminUser has all permissions on every test Redis. Tests use it through [RedisAdmin] to control
// their servers. It accepts any password.
const AdminUser = "admin"

// RedisAdmin returns the address of a test Redis for [AdminUser]. address is from [Redis] or
// [RedisCluster]: without a user, it has the permissions of a production server.
func RedisAdmin(tb testing.TB, address string) string {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatalf("parse Redis address: %v", err)
	}
	u.User = url.UserPassword(AdminUser, "any")
	return u.String()
}

// RedisAsServer returns the address of a test Redis for the user tandian of deploy/redis/users.acl,
// including the restriction to its keys and channels.
func RedisAsServer(tb testing.TB, address string) string {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatalf("parse Redis address: %v", err)
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
	var copied strings.Builder
	var rights []string
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) > 2 && words[1] == "exporter" { // the metrics exporter
			copied.WriteString(line)
		}
		if len(words) > 2 && words[1] == "tandian" {
			copied.WriteString(line)
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
		"user " + AdminUser + " on nopass ~* &* +@all\n" + copied.String()
	return []string{"--aclfile", file, "--masteruser", AdminUser, "--masterauth", "any"}, os.WriteFile(file, []byte(acl), 0o600)
}

// AdminClient returns a client of the same test Redis or cluster as rdb, for [AdminUser]. It closes
// with the test.
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
