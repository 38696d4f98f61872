package sale

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
)

// Anomalies holds the results of one strategy.
type Anomalies struct {
	Name   string
	Theory string // the predicted errors, in words
	Verdict
	Holds bool // exactly the predicted errors occurred
}

// A scene is a sale to two concurrent wishes, each for one item.
type scene struct {
	stock int
	users [2]int64
}

// scenes returns the scenes: one item for two users, two items for one user that asks twice, and
// enough items.
func scenes() []scene { return []scene{{1, [2]int64{1, 2}}, {2, [2]int64{1, 1}}, {2, [2]int64{1, 2}}} }

type child = subprocess.Process[question, reply]

// Wrong plays every scene repeatedly with each strategy, in real processes. The first request stops
// at its worst moment, and the second runs until it ends or waits.
func (s *Servers) Wrong(ctx context.Context, times int) ([]Anomalies, error) {
	var all []Anomalies
	for _, w := range ways() {
		v, err := s.play(ctx, w, times)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		all = append(all, Anomalies{
			Name: w.name, Theory: w.theory(), Verdict: v,
			Holds: w.oversold == (v.Oversold > 0) && w.duplicate == (v.Duplicate > 0) && w.unsold == (v.Unsold > 0) && v.Lost == 0,
		})
	}
	return all, nil
}

// theory describes the predicted outcome.
func (w way) theory() string {
	switch {
	case w.oversold && w.duplicate:
		return "oversold, duplicate"
	case w.unsold:
		return "unsold"
	}
	return "nothing"
}

// play plays all scenes with one way.
func (s *Servers) play(ctx context.Context, w way, times int) (v Verdict, err error) {
	st := &theatre{Servers: s, way: w}
	defer func() { err = errors.Join(err, st.close(), s.clean(context.WithoutCancel(ctx))) }()
	if err := st.open(); err != nil {
		return v, err
	}
	for range times {
		for _, sc := range scenes() {
			one, err := st.play(ctx, sc)
			if err != nil {
				return v, err
			}
			v.Add(one)
		}
	}
	return v, nil
}

// theatre holds the servers and tables for the scenes of a way.
type theatre struct {
	*Servers
	way    way
	at     keys
	db     *sql.DB // as its servers see it
	names  []string
	actors []*child
}

func (t *theatre) open() (err error) {
	prefix := t.space()
	t.at = keys{prefix}
	if t.db, err = connect(t.dsn, t.way.schema(), "bench", new(atomic.Int64)); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	for i := range t.way.servers {
		cmd := exec.Command(self) //nolint:noctx // close ends it
		cmd.Env = append(os.Environ(), processEnv+"=1")
		cmd.Stderr = os.Stderr
		name := fmt.Sprintf("%s server %d", prefix, i)
		p, err := subprocess.StartProcess[question, reply](cmd, setting{Redis: t.redisURL, Database: t.dsn, Way: t.way.name, Name: name, Prefix: prefix})
		if err != nil {
			return fmt.Errorf("start a server: %w", err)
		}
		t.names, t.actors = append(t.names, name), append(t.actors, p)
	}
	return nil
}

func (t *theatre) close() error {
	for _, p := range t.actors {
		p.Kill()
	}
	if t.db == nil {
		return nil
	}
	return t.db.Close()
}

// play plays one scene and judges its outcome.
func (t *theatre) play(ctx context.Context, sc scene) (Verdict, error) {
	sale, err := t.sale(ctx, sc.stock)
	if err != nil {
		return Verdict{}, err
	}
	var roles [2]*role
	for i, user := range sc.users {
		order, err := t.number(ctx)
		if err != nil {
			return Verdict{}, err
		}
		server := i % t.way.servers
		roles[i] = &role{server: t.actors[server], question: question{Wish: Wish{user, sale.Voucher, 1}, Order: order}}
		if err := roles[i].begin(ctx, t, t.names[server]); err != nil {
			return Verdict{}, err
		}
	}
	var said []Answered
	for _, r := range roles {
		answer, err := r.end(ctx)
		if err != nil {
			return Verdict{}, err
		}
		said = append(said, Answered{r.Wish, answer})
	}
	rows, err := ordersOf(ctx, t.db, sale.Voucher)
	if err != nil {
		return Verdict{}, err
	}
	left, err := t.left(ctx, sale)
	return judge(sc.stock, left, rows, said), err
}

// sale opens a sale in the store of the way.
func (t *theatre) sale(ctx context.Context, stock int) (Sale, error) {
	order, err := t.number(ctx)
	if err != nil {
		return Sale{}, err
	}
	s := Sale{Voucher: order, Stock: stock}
	if t.way.indexed {
		s.Voucher, err = t.row(ctx, stock, nowhere)
	} else {
		_, err = t.db.ExecContext(ctx, text("open"), s.Voucher, stock)
	}
	if err == nil && t.way.inRedis {
		err = t.at.open(ctx, t.rdb, s)
	}
	if err != nil {
		return Sale{}, fmt.Errorf("open a sale: %w", err)
	}
	return s, nil
}

// left counts the stock in the store of the way.
func (t *theatre) left(ctx context.Context, s Sale) (n int, err error) {
	if t.way.inRedis {
		n, err = t.rdb.Get(ctx, t.at.stock(s.Voucher)).Int()
	} else {
		err = t.db.QueryRowContext(ctx, text("stock"), s.Voucher).Scan(&n)
	}
	if err != nil {
		return 0, fmt.Errorf("count the remaining stock: %w", err)
	}
	return n, nil
}

// A role is a wish in a scene.
type role struct {
	question
	server *child
	coming <-chan reply // nil if it stopped
	is     reply
}

// begin runs a wish until it is answered, pauses, or waits for a row of the database.
func (r *role) begin(ctx context.Context, t *theatre, session string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r.coming = r.server.Ask(r.question)
	for {
		select {
		case answer, ok := <-r.coming:
			return r.take(answer, ok)
		default:
		}
		var waits bool
		if err := t.Servers.db.QueryRowContext(ctx, text("waits"), session).Scan(&waits); err != nil {
			return fmt.Errorf("read waiting sessions: %w", err)
		}
		if waits {
			return nil
		}
		if err := clock.Sleep(ctx, time.Millisecond); err != nil {
			return fmt.Errorf("a wish neither stops nor waits: %w", err)
		}
	}
}

func (r *role) take(answer reply, ok bool) error {
	r.coming, r.is = nil, answer
	if !ok {
		return subprocess.ErrDied
	}
	if answer.Failed != "" {
		return errors.New(answer.Failed)
	}
	return nil
}

// end resumes a wish until it is answered.
func (r *role) end(ctx context.Context) (Answer, error) {
	for r.coming != nil || r.is.Stage != answered {
		if r.coming == nil {
			r.coming = r.server.Ask(r.question)
		}
		select {
		case answer, ok := <-r.coming:
			if err := r.take(answer, ok); err != nil {
				return Answer{}, err
			}
		case <-ctx.Done():
			return Answer{}, ctx.Err()
		}
	}
	return r.is.Answer, nil
}
