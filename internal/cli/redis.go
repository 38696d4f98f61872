package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/internal/kit/progress"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
)

// Values of --role.
const (
	stateRole = "state"
	cacheRole = "cache"
)

const (
	catMembers   = 100              // maximum number of members that redis cat shows
	replyTimeout = 30 * time.Second // of one Redis command
)

func (c *commands) redisCommands() *cobra.Command {
	var (
		scan bigKeysOptions
		role string
	)
	bigKeys := &cobra.Command{
		Use: "bigkeys", Short: "scan all keys and sum them by pattern: number, size, members, keys without TTL",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.bigKeys(cmd.Context(), scan) },
	}
	f := bigKeys.Flags()
	f.StringVar(&scan.role, "role", stateRole, "scan the Redis with this `ROLE`: state or cache")
	f.IntVar(&scan.rate, "rate", 2000, "scan at most `NUMBER` keys a second; 0 is no limit")
	f.IntVar(&scan.top, "top", 20, "show the `NUMBER` patterns with the most bytes")
	cat := &cobra.Command{
		Use: "cat KEY", Short: "print type, TTL, size and value of one key; secrets are masked",
		RunE: func(cmd *cobra.Command, args []string) error { return c.cat(cmd.Context(), role, args[0]) },
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cmdline.Refuse("cat needs one KEY")
			}
			return nil
		},
	}
	cat.Flags().StringVar(&role, "role", "", "read the Redis with this `ROLE`: state or cache; if empty, cache for td:cache:… and else state")
	return cmdline.Group("redis COMMAND", "inspect the Redis of this installation", bigKeys, cat)
}

// bigKeysOptions holds the flags of redis bigkeys.
type bigKeysOptions struct {
	role      string
	rate, top int
}

// openRedis connects to the Redis of a role.
func (c *commands) openRedis(ctx context.Context, role string) (redis.UniversalClient, error) {
	cfg := redisdb.RedisConfig{URL: c.cfg.RedisURL, Role: role, Timeout: replyTimeout, TLS: c.cfg.RedisTLS()}
	switch {
	case role != stateRole && role != cacheRole:
		return nil, cmdline.Refuse("unknown role %q (want one of [%s %s])", role, stateRole, cacheRole)
	case c.cfg.RedisURL == "":
		return nil, cmdline.Refuse("--redis-url is required: an embedded Redis is inside the server's process, where other processes cannot read it")
	case role == cacheRole && c.cfg.RedisCacheURL != "":
		cfg.URL = c.cfg.RedisCacheURL
	}
	rdb, err := redisdb.OpenRedis(cfg, redisdb.NewRedisMetrics(app.NewRegistry()))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.StartTimeout)
	defer cancel()
	if err := rdb.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("reach the %s Redis: %w", role, err), rdb.Close())
	}
	return rdb, nil
}

func (c *commands) bigKeys(ctx context.Context, o bigKeysOptions) (err error) {
	if o.rate < 0 || o.top < 1 {
		return cmdline.Refuse("--rate must be at least 0, --top at least 1")
	}
	rdb, err := c.openRedis(ctx, o.role)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rdb.Close()) }()
	total, err := redisdb.KeyCount(ctx, rdb)
	if err != nil {
		return err
	}
	bar := progress.New(c.stderr, "keys", int(total))
	defer bar.Close()
	var patterns redisdb.KeyPatterns
	scan := redisdb.KeyScan{Prefix: c.cfg.RedisPrefix + ":", Rate: o.rate, Seen: bar.Set}
	if err := scan.Each(ctx, rdb, patterns.Add); err != nil {
		return err
	}
	bar.Close()
	return printPatterns(c.stdout, patterns.All(), o.top)
}

// printPatterns prints the first top patterns and the sums over all.
func printPatterns(out io.Writer, list []redisdb.KeyPattern, top int) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "PATTERN\tTYPE\tKEYS\tBYTES\tMAX BYTES\tMAX MEMBERS\tNO TTL\tLARGEST KEY")
	var all redisdb.KeyPattern
	for i, p := range list {
		all.Keys, all.Bytes, all.NoTTL = all.Keys+p.Keys, all.Bytes+p.Bytes, all.NoTTL+p.NoTTL
		if i < top {
			_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n",
				printable(p.Name), p.Type, p.Keys, p.Bytes, p.MaxBytes, p.MaxMembers, p.NoTTL, printable(p.Example))
		}
	}
	_, _ = fmt.Fprintf(table, "all %d patterns\t\t%d\t%d\t\t\t%d\t\n", len(list), all.Keys, all.Bytes, all.NoTTL)
	return table.Flush()
}

// secretNouns returns the words after the prefix of keys whose values are masked. These
// values contain credentials or data about them.
func secretNouns() []string {
	return []string{"bus", "code", "code-limit", "password-tries", "session"}
}

func (c *commands) cat(ctx context.Context, role, key string) (err error) {
	prefix := c.cfg.RedisPrefix + ":"
	noun, ok := strings.CutPrefix(key, prefix)
	if !ok {
		return cmdline.Refuse("KEY must begin with %s (--redis-prefix)", prefix)
	}
	noun, _, _ = strings.Cut(noun, ":")
	if role == "" && noun == "cache" {
		role = cacheRole
	} else if role == "" {
		role = stateRole
	}
	rdb, err := c.openRedis(ctx, role)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rdb.Close()) }()
	found, err := redisdb.MeasureKeys(ctx, rdb, key)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("the %s Redis has no key %s", role, printable(key))
	}
	members, err := redisdb.Peek(ctx, rdb, found[0], catMembers)
	if err != nil {
		return err
	}
	return printKey(c.stdout, found[0], members, noun)
}

// printKey prints a key and some of its members.
func printKey(out io.Writer, k redisdb.Key, members []redisdb.Member, noun string) error {
	unit, ttl := "members", "none: it does not expire"
	if k.Type == "string" {
		unit = "bytes of text"
	}
	if k.TTL != redisdb.NoTTL {
		ttl = k.TTL.String()
	}
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "key      %s\ntype     %s\nttl      %s\nsize     %d %s, %d bytes of memory\n\n",
		printable(k.Name), k.Type, ttl, k.Members, unit, k.Bytes)
	switch {
	case slices.Contains(secretNouns(), noun):
		printMasked(&b, k, members)
	case k.Type == "string" && noun == "cache":
		if text, err := cache.Describe([]byte(members[0].Value)); err == nil {
			b.WriteString(text)
			break
		}
		fallthrough // a lease, or the format of another release
	default:
		for _, m := range members {
			b.WriteString(strings.TrimSpace(printable(m.Name)+"\t"+printable(m.Value)) + "\n")
		}
	}
	if k.Type != "string" && k.Members > int64(len(members)) {
		_, _ = fmt.Fprintf(&b, "… %d more\n", k.Members-int64(len(members)))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// printMasked prints the field names of a hash and the lengths of all values.
func printMasked(b *strings.Builder, k redisdb.Key, members []redisdb.Member) {
	for _, m := range members {
		name := ""
		switch k.Type {
		case "hash":
			name = printable(m.Name) + "\t"
		case "set", "zset":
			m.Value = m.Name
		}
		_, _ = fmt.Fprintf(b, "%s(masked, %d bytes)\n", name, len(m.Value))
	}
}

// printable returns text, quoted if it contains invalid UTF-8 or characters that are not
// graphic.
func printable(text string) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !strconv.IsGraphic(r) }) < 0 {
		return text
	}
	return strconv.Quote(text)
}
