package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/lab/compare/redisserver"
)

// A Rate is the throughput of one sender and one consumer together, from the first sent message to
// the last handled one.
type Rate struct {
	PerSecond float64 // handled messages, the median of the rounds
	ToOurs    float64 // relative to Tandian's in the same round, likewise; 0 if that was left out
	Missed    int     // unhandled messages of all rounds
}

// rates measures schemes in turns, in rounds, on one Redis, so that other work of the machine
// affects all of them equally.
func (l Lab) rates(ctx context.Context, schemes []Scheme, rounds, atOnce int) ([]Rate, error) {
	server, err := redisserver.StartKeeping(ctx)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	rates := make([]Rate, len(schemes))
	perSecond, toOurs := make([][]float64, len(schemes)), make([][]float64, len(schemes))
	mine := slices.IndexFunc(schemes, func(sc Scheme) bool { return sc.Name == ours })
	for round := range rounds {
		for i, sc := range schemes {
			name := fmt.Sprintf("queue-%d-%d-%d", atOnce, round, i)
			got, missed, err := l.rate(ctx, server, sc, name, atOnce)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", sc.Name, err)
			}
			perSecond[i] = append(perSecond[i], got)
			rates[i].Missed += missed
		}
	}
	for i := range schemes {
		if mine >= 0 {
			for round := range rounds {
				toOurs[i] = append(toOurs[i], perSecond[i][round]/perSecond[mine][round])
			}
			rates[i].ToOurs = median(toOurs[i])
		}
		rates[i].PerSecond = median(perSecond[i])
	}
	return rates, nil
}

func (l Lab) rate(ctx context.Context, server *redisserver.Server, sc Scheme, name string, atOnce int) (perSecond float64, missed int, err error) {
	t, err := l.on(server, sc, Setting{Name: name, Bytes: messageBytes, Room: 2*l.Messages + 10*bound, TakeOver: never})
	if err != nil {
		return 0, 0, err
	}
	defer t.leave()
	defer func() { err = errors.Join(err, t.rdb.Unlink(ctx, name).Err()) }()
	c, err := t.begin(ctx)
	if err != nil {
		return 0, 0, err
	}
	working := start[Handled](c.process, "Handle", Handling{c.name, l.Messages})
	if err := t.waiting(ctx, 1); err != nil {
		return 0, 0, err
	}
	began, err := t.send(ctx, l.Messages, atOnce)
	if err != nil {
		return 0, 0, err
	}
	h, err := working(ctx)
	if err != nil || len(h.Numbers) == 0 {
		return 0, 0, errors.Join(err, ctx.Err())
	}
	t.note(h.Numbers)
	return float64(len(h.Numbers)) / time.Duration(h.Last-began).Seconds(), t.lost(), nil
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}
