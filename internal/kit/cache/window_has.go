package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Membership reports which of some members a list has, as far as its window shows.
type Membership struct {
	Has   map[string]bool // true for each requested member in the window
	Whole bool            // the window is the whole list: it has no other members
	// Floor is the score of the oldest entry unless Whole. Members with a higher score that
	// are not in Has are not in the list. For other members, read the source of truth.
	Floor int64
}

// Has reports which of some members a list has. It costs one round trip if the window exists.
// Freshness, loads and errors are those of [Window.Page].
func (w *Window[K]) Has(ctx context.Context, k K, members []string) (Membership, error) {
	m, is := w.queryMembers(ctx, k, members)
	answers := []windowResult{{state: is}}
	w.count(answers)
	if is == windowFound {
		return m, nil
	}
	w.fill(ctx, []K{k}, firstRange(maxWindow), answers)
	if err := answers[0].err; err != nil {
		return Membership{}, err
	}
	return answers[0].membership(members), nil
}

func (a windowResult) membership(members []string) Membership {
	m := Membership{Has: make(map[string]bool), Whole: a.whole}
	there := make(map[string]bool, len(a.entries))
	for _, e := range a.entries {
		there[e.Member] = true
	}
	for _, member := range members {
		if there[member] {
			m.Has[member] = true
		}
	}
	if last := len(a.entries) - 1; last >= 0 && !a.whole {
		m.Floor = a.entries[last].Score
	}
	return m
}

// queryMembers sends one call for each 500 members, in one pipeline. The window may change
// between two calls. Each reply is correct for its own members, so the highest floor holds for
// all.
func (w *Window[K]) queryMembers(ctx context.Context, k K, members []string) (Membership, windowState) {
	parts := slices.Collect(slices.Chunk(members, batch))
	if len(parts) == 0 {
		parts = [][]string{nil}
	}
	name, calls := w.nameOf(k), make([]scriptCall, len(parts))
	for i, part := range parts {
		ttl, renewBelow := w.ttls()
		args := append(make([]any, 0, 2+len(part)), ttl, renewBelow)
		for _, member := range part {
			args = append(args, stored(member))
		}
		calls[i] = scriptCall{script: windowHasScript, key: name, args: args}
	}
	m, cut := Membership{Has: make(map[string]bool), Whole: true}, false
	for i, cmd := range w.client.run(ctx, calls) {
		whole, floor, err := readHas(cmd, parts[i], m.Has)
		switch {
		case errors.Is(err, errNoWindow):
			return Membership{}, windowAbsent
		case err != nil:
			if !ended(ctx) {
				w.redisFailed(ctx, err)
			}
			return Membership{}, windowFailed
		case whole:
		case cut:
			m.Floor = max(m.Floor, floor)
		default:
			m.Whole, m.Floor, cut = false, floor, true
		}
	}
	return m, windowFound
}

var errNoWindow = errors.New("window does not exist")

// readHas sets has to true for the members in the window.
func readHas(cmd *redis.Cmd, members []string, has map[string]bool) (whole bool, floor int64, err error) {
	v, err := cmd.Result()
	if err != nil {
		return false, 0, err
	}
	if v == int64(-1) {
		return false, 0, errNoWindow
	}
	list, _ := v.([]any)
	if len(list) != 2+len(members) {
		return false, 0, fmt.Errorf("window_has.lua returned %T of %d items", v, len(list))
	}
	for i, member := range members {
		if list[2+i] == int64(1) {
			has[member] = true
		}
	}
	if list[0] == markWhole {
		return true, 0, nil
	}
	text, _ := list[1].(string)
	score, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return false, 0, fmt.Errorf("window_has.lua returned invalid score %q", text)
	}
	return false, int64(score), nil
}
