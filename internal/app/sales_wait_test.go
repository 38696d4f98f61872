package app

import (
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/config"
)

// An embedded Redis loses QUEUED orders with its process.
func TestEmbeddedOrdersWaitLongerForTheirCommit(t *testing.T) {
	for _, tt := range []struct {
		name, redis string
		set, want   time.Duration
	}{
		{"real Redis", "redis://there", 150 * time.Millisecond, 150 * time.Millisecond},
		{"embedded", "", 150 * time.Millisecond, embeddedOrderWait},
		{"embedded, longer", "", 9 * time.Second, 9 * time.Second},
		{"no wait", "redis://there", 0, -1},
		{"embedded, no wait", "", 0, -1},
	} {
		if got := orderWait(&config.Config{RedisURL: tt.redis, OrderWait: tt.set}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
