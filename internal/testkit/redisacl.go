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

// AdminUser is the user of every Redis of the tests who may do all: what a test does to
// its server it does as this one, by [RedisAdmin]. It has no password.
const AdminUser = "admin"

// RedisAdmin is the address of a Redis of the tests, as [Redis] and [RedisCluster] return
// it, for somebody who may do everything. Whoever is not named in an address may do no
// more than a server in production.
func RedisAdmin(tb testing.TB, address string) string {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatalf("address of a Redis: %v", err)
	}
	u.User = url.UserPassword(AdminUser, "any")
	return u.String()
}

// RedisAsServer is the address of a Redis of the tests for the user tandian as
// deploy/redis/users.acl has him: also the keys and channels are his alone.
func RedisAsServer(tb testing.TB, address string) string {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatalf("address of a Redis: %v", err)
	}
	u.User = url.UserPassword("tandian", "tandian")
	return u.String()
}

// writeACL writes the access rules of a Redis of the tests into dir, and returns the
// options that make it use them. They are those of deploy/redis/users.acl: whoever does
// not say who he is has the rights of the user tandian, by command. Only the keys are
// any, because tests have prefixes of their own.
func writeACL(dir string) (options []string, err error) {
	root, err := root()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, "deploy", "redis", "users.acl"))
	if err != nil {
		return nil, err
	}
	var known strings.Builder // lines as they are
	var rights []string
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) > 2 && words[1] == "exporter" { // as it is: what asks for figures
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
		return nil, errors.New("deploy/redis/users.acl gives the user tandian no rights")
	}
	file := filepath.Join(dir, "users.acl")
	acl := "user default on nopass ~* &* " + strings.Join(rights, " ") + "\n" +
		"user " + AdminUser + " on nopass ~* &* +@all\n" + known.String()
	return []string{"--aclfile", file, "--masteruser", AdminUser, "--masterauth", "any"}, os.WriteFile(file, []byte(acl), 0o600)
}

// AdminClient is a client of the same Redis of the tests as rdb is, one server or a
// cluster, as somebody who may do everything. It is closed with the test.
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
		tb.Fatalf("a %T cannot be copied", rdb)
	}
	tb.Cleanup(func() { _ = admin.Close() })
	return admin
}
