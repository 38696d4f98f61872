package lock

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/lock/lua"
)

// ScriptOf is the name of the script that a command runs, or of the command.
func ScriptOf(cmd redis.Cmder) string {
	if len(cmd.Args()) > 1 {
		for name, text := range map[string]string{"acquire": lua.Acquire, "release": lua.Release, "extend": lua.Extend, "raise": lua.Raise} {
			if what := fmt.Sprint(cmd.Args()[1]); what == text || what == redis.NewScript(text).Hash() {
				return name
			}
		}
	}
	return cmd.Name()
}

// Waiting is how many of this process wait for a name, or try to get it.
func (l *Locker) Waiting(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := l.queues[name]; q != nil {
		return q.users
	}
	return 0
}
