package redisdb

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestRightsThatAreMissingAreNamed(t *testing.T) {
	url := testkit.Redis(t)
	admin := openRedis(t, prometheus.NewRegistry(), RedisConfig{URL: testkit.RedisAdmin(t, url), Role: "state"})
	tests := []struct{ name, rules, want, not string }{
		{"nothing is missing", "~td:* &td:* +@all", "", ""},
		{"a command is", "~td:* &td:* +@all -xadd", "do not suffice for XADD, on keys", "XLEN"},
		{"two are, one of them of two words", "~td:* &td:* +@all -get -memory|usage", "do not suffice for GET, MEMORY USAGE, on keys", "SET"},
		{"one that has no key is", "~td:* &td:* +@all -scan", "for SCAN 0, on keys", "HSCAN"},
		{"the keys are of another installation", "~other:* &td:* +@all", "XADD", "SUBSCRIBE"},
		{"the channels are", "~td:* &other:* +@all", "PUBLISH", "XADD"},
		{"it may only say that it is there", "~td:* &td:* -@all +ping", "NOPERM", ""},
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
				t.Errorf("%d connections", n)
			}
		})
	}
	if n, err := admin.DBSize(t.Context()).Result(); n != 0 || err != nil {
		t.Errorf("asking left %d keys, %v", n, err)
	}
}

func redisNoPerm(err error) bool { return redis.HasErrorPrefix(err, "NOPERM") }

func TestTheUserOfTheServerHasTheRightsThatItNeeds(t *testing.T) {
	for name, url := range map[string]string{"one server": testkit.Redis(t), "a cluster": testkit.RedisCluster(t)} {
		t.Run(name, func(t *testing.T) {
			rdb := openRedis(t, prometheus.NewRegistry(), RedisConfig{URL: url, Role: "state"})
			if err := CheckACL(t.Context(), rdb, "td"); err != nil {
				t.Error(err)
			}
		})
	}
}
