package lock

import (
	"fmt"

	"github.com/redis/go-redis/v9"
)

// StepOf returns the step of redsync that a command belongs to, or the command's name.
func StepOf(cmd redis.Cmder) string {
	switch args := cmd.Args(); {
	case cmd.Name() == "setnx", cmd.Name() == "set" && len(args) > 3 && fmt.Sprint(args[len(args)-1]) == "nx":
		return "acquire"
	case (cmd.Name() == "evalsha" || cmd.Name() == "eval") && len(args) == 5: // one key, and the value
		return "release"
	case (cmd.Name() == "evalsha" || cmd.Name() == "eval") && len(args) == 6: // and the TTL
		return "extend"
	}
	return cmd.Name()
}

// Waiting returns the number of callers of this process that wait for a name or attempt it.
func (l *Locker) Waiting(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := l.queues[name]; q != nil {
		return q.users
	}
	return 0
}
