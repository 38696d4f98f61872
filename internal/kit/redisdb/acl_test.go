package redisdb

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestCheckACLListsMissingPermissions(t *testing.T) {
	url := testkit.Redis(t)
	admin := openRedis(t, prometheus.NewRegistry(), RedisConfig{URL: testkit.RedisAdmin(t, url), Role: "state"})
	tests := []struct{ name, rules, want, not string }{
		{"all permissions", "~td:* &td:* +@all", "", ""},
		{"a missing command", "~td:* &td:* +@all -xadd", "lacks permissions for XADD, on keys", "XLEN"},
		{"two missing commands", "~td:* &td:* +@all -get -memory|usage", "lacks permissions for GET, MEMORY USAGE, on keys", "SET"},
		{"a missing command without a key", "~td:* &td:* +@all -scan", "for SCAN 0, on keys", "HSCAN"},
		{"other keys", "~other:* &td:* +@all", "XADD", "SUBSCRIBE"},
		{"other channels", "~td:* &other:* +@all", "PUBLISH", "XADD"},
		{"only PING", "~td:* &td:* -@all +ping", "NOPERM", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := []any{"ACL", "SETUSER", "limited", "reset", "on", "nopass"}
			for rule := range strings.FieldsSeq(tt.rules) {
				args = append(args, rule)
			}
			if err := admin.Do(t.Context(), args...).Err(); err != nil {
				t.Fatal(err)
			}
			limited := openRedis(t, prometheus.NewRegistry(), RedisConfig{URL: strings.Replace(url, "unix://", "unix://limited:any@", 1), Role: "state"})
			err := CheckACL(t.Context(), limited, "td")
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || !redisNoPerm(err) || tt.not != "" && strings.Contains(err.Error(), tt.not) {
				t.Errorf("got %v, want %q without %q", err, tt.want, tt.not)
			}
			if n := limited.(*redis.Client).PoolStats().TotalConns; n > 1 { //nolint:forcetypeassert // it is one server
				t.Errorf("got %d connections", n)
			}
		})
	}
	if n, err := admin.DBSize(t.Context()).Result(); n != 0 || err != nil {
		t.Errorf("got %d keys, %v, want none", n, err)
	}
}

func redisNoPerm(err error) bool { return redis.HasErrorPrefix(err, "NOPERM") }

func TestServerUserHasAllPermissions(t *testing.T) {
	for name, url := range map[string]string{"one server": testkit.Redis(t), "a cluster": testkit.RedisCluster(t)} {
		t.Run(name, func(t *testing.T) {
			rdb := openRedis(t, prometheus.NewRegistry(), RedisConfig{URL: url, Role: "state"})
			if err := CheckACL(t.Context(), rdb, "td"); err != nil {
				t.Error(err)
			}
		})
	}
}
