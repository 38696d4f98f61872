package redisdb

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/connect"
)

// Await waits until Redis answers or ctx ends, and calls report with each error. The name appears
// in error texts. If waiting cannot help, it returns at once, with advice in the error text.
func Await(ctx context.Context, name string, client redis.UniversalClient, report func(error)) error {
	ping := func(ctx context.Context) error { return client.Ping(ctx).Err() }
	return connect.Await(ctx, name, ping, remedy, report)
}

// remedy returns advice for an error that retrying cannot fix. ok is false for other errors.
func remedy(err error) (advice string, ok bool) {
	for _, word := range []string{"WRONGPASS", "NOAUTH"} {
		if redis.HasErrorPrefix(err, word) {
			return "; correct the user and the password in its URL (in a URL, special characters are written as %XX)", true
		}
	}
	for _, text := range []string{"ERR invalid password", "ERR Client sent AUTH", "ERR AUTH <password> called without"} {
		if redis.HasErrorPrefix(err, text) {
			return "; correct the password in its URL", true
		}
	}
	if redis.HasErrorPrefix(err, "NOPERM") {
		return "; grant the user the rules of deploy/redis/users.acl", true
	}
	if redis.HasErrorPrefix(err, "ERR DB index is out of range") || redis.HasErrorPrefix(err, "ERR invalid DB index") {
		return "; correct the database number at the end of its URL", true
	}
	return connect.TLSRemedy(err)
}
