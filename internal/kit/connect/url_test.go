package connect_test

import (
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

func TestURLErrorsAreReadableAndContainNoSecrets(t *testing.T) {
	const sslmode = `wrong value for "sslmode": "nonsense" is not supported; supported values are disable, allow, `
	tests := []struct{ name, url, want, secret string }{
		{"a password of one letter", "postgres://u:p@127.0.0.1/x?sslmode=nonsense", sslmode, ""},
		{"a password of a frequent letter", "postgres://u:s@127.0.0.1/x?sslmode=nonsense", sslmode, ""},
		{"a long password", "postgres://u:correcthorse@127.0.0.1/x?sslmode=nonsense", sslmode, "correcthorse"},
		{"an escaped password", "postgres://u:p%40s%2Fs%20w@127.0.0.1/x?sslmode=nonsense", sslmode, "p@s/s w"},
		{"a password equal to the value", "postgres://u:correcthorse@127.0.0.1/x?sslmode=correcthorse", `wrong value for "sslmode"`, "correcthorse"},
		{"an escaped password in the value", "postgres://u:correct%20horse@127.0.0.1/x?connect_timeout=correct+horse+1", `wrong value for "connect_timeout"`, "correct horse"},
		{"a password parameter", "postgres://127.0.0.1/x?password=correcthorse&port=correcthorse", `wrong value for "port"`, "correcthorse"},
		{"a password of the client key", "postgres://127.0.0.1/x?sslpassword=correcthorse&connect_timeout=1s", `wrong value for "connect_timeout"`, "correcthorse"},
		{"a bare percent sign", "postgres://u:correct%horse@127.0.0.1/x", "%2F %3F %23 and %40", "correct"},
		{"a slash", "postgres://u:correct/horse@127.0.0.1/x", "%2F %3F %23 and %40", "correct"},
		{"a question mark", "postgres://u:1?horse@127.0.0.1/x", "%2F %3F %23 and %40", "horse"},
		{"a number sign", "postgres://u:1#horse@127.0.0.1/x", "%2F %3F %23 and %40", "horse"},
		{"keys and values", "host=127.0.0.1 user=u password=correcthorse dbname=x", "must begin with postgres://", "correcthorse"},
		{"two ports", "postgres://u:p@127.0.0.1/x?port=1,2,3&host=a,b&target_session_attrs=read-write", "could not match 3 port numbers to 2 hosts", ""},
		{"Redis, a password of one letter", "redis://u:e@127.0.0.1/one", `redis: invalid database number: "one"`, ""},
		{"Redis, a long password", "redis://u:correcthorse@127.0.0.1/one", `redis: invalid database number: "one"`, "correcthorse"},
		{"Redis, a number sign", "redis://u:1#correcthorse@127.0.0.1/0", "%2F %3F %23 and %40", "correcthorse"},
		{"Sentinel, password of the servers", "redis+sentinel://127.0.0.1:26379/?password=correcthorse&master_name=m&db=correcthorse", "invalid database number", "correcthorse"},
		{"a cluster", "redis+cluster://u:correcthorse@127.0.0.1:6379/?pool_size=many", "pool_size", "correcthorse"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check := redisdb.CheckRedisURL
			if !strings.HasPrefix(tt.url, "redis") {
				check = sqldb.CheckDatabaseURL
			}
			err := check(tt.url)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if tt.secret != "" && strings.Contains(err.Error(), tt.secret) || strings.Contains(err.Error(), "…") {
				t.Errorf("the error contains the password, or is cut: %v", err)
			}
		})
	}
}
