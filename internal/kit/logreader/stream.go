package logreader

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// A stream is one reading of the slot: the streaming replication protocol with
// the messages of pgoutput, version 1, in which transactions arrive whole, in the
// order of their commits. One goroutine uses the connection.
type stream struct {
	r         *Reader
	conn      *pgconn.PgConn
	position  pglogrepl.LSN // all that was committed before this has been told; it never goes back
	heard     time.Time     // when the server said something
	beat      time.Time     // when it hears from us again
	relations map[uint32]*relation
	tx        *transaction // the one that is arriving, or nil
}

// follow takes what comes until ctx ends, and then returns nil.
func (s *stream) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		data, err := s.receive(ctx)
		if err != nil {
			return err
		}
		if err := s.take(ctx, data); err != nil {
			return err
		}
	}
	return nil
}

// receive returns the next message, or nil when ctx ended or it was time to send
// something ourselves. It is valid until the next call.
func (s *stream) receive(ctx context.Context) ([]byte, error) {
	wait, cancel := context.WithDeadline(ctx, s.beat)
	defer cancel()
	message, err := s.conn.ReceiveMessage(wait)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, nil
	case pgconn.Timeout(err) && time.Since(s.heard) > s.r.pace.silence:
		return nil, fmt.Errorf("the database says nothing any more: %w", err)
	case pgconn.Timeout(err):
		return nil, s.acknowledge(ctx, true)
	default:
		return nil, fmt.Errorf("read the log: %w", err)
	}
	s.heard = time.Now()
	switch m := message.(type) {
	case *pgproto3.CopyData:
		return m.Data, nil
	case *pgproto3.ErrorResponse:
		return nil, fmt.Errorf("read the log: %w", pgconn.ErrorResponseToPgError(m))
	case *pgproto3.NoticeResponse, *pgproto3.ParameterStatus:
		return nil, nil
	}
	return nil, fmt.Errorf("read the log: the server ended it with %T", message)
}

// take takes a message: of the protocol, or one of pgoutput in its envelope.
func (s *stream) take(ctx context.Context, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	switch data[0] {
	case pglogrepl.PrimaryKeepaliveMessageByteID:
		alive, err := pglogrepl.ParsePrimaryKeepaliveMessage(data[1:])
		if err != nil {
			return fmt.Errorf("read a keepalive: %w", err)
		}
		// Between transactions, all that was committed up to here has come, so
		// the slot need not hold back what others write.
		if s.tx == nil {
			s.position = max(s.position, alive.ServerWALEnd)
		}
		if alive.ReplyRequested {
			return s.acknowledge(ctx, false)
		}
	case pglogrepl.XLogDataByteID:
		envelope, err := pglogrepl.ParseXLogData(data[1:])
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		message, err := pglogrepl.Parse(envelope.WALData)
		if err != nil {
			return fmt.Errorf("read a message of pgoutput: %w", err)
		}
		return s.decode(ctx, message)
	}
	return nil
}

// decode collects a transaction, and tells of it at its commit.
func (s *stream) decode(ctx context.Context, message pglogrepl.Message) error {
	switch m := message.(type) {
	case *pglogrepl.RelationMessage:
		s.relations[m.RelationID] = s.r.relation(m)
	case *pglogrepl.BeginMessage:
		s.tx = &transaction{id: m.Xid, changes: make(map[*Table]*change)}
	case *pglogrepl.InsertMessage:
		s.tx.insert(s.relations[m.RelationID], m.Tuple)
	case *pglogrepl.UpdateMessage:
		s.tx.update(s.relations[m.RelationID], m.OldTuple, m.NewTuple)
	case *pglogrepl.DeleteMessage:
		s.tx.update(s.relations[m.RelationID], m.OldTuple)
	case *pglogrepl.TruncateMessage:
		for _, id := range m.RelationIDs {
			s.tx.truncate(s.relations[id])
		}
	case *pglogrepl.CommitMessage:
		tx := s.tx
		s.tx = nil
		return s.commit(ctx, tx, m.TransactionEndLSN)
	}
	return nil
}

// commit tells of a transaction and acknowledges it. Meanwhile it keeps telling
// the server that we are there, at the old position.
func (s *stream) commit(ctx context.Context, tx *transaction, end pglogrepl.LSN) error {
	if tx.outbox && s.r.o.Inserted != nil {
		s.r.o.Inserted()
	}
	news := s.r.newsOf(tx)
	if len(news) == 0 {
		s.position = max(s.position, end) // the next beat takes it along
		return nil
	}
	telling, cancel := context.WithCancel(ctx)
	defer cancel()
	told := make(chan error, 1)
	go func() {
		err := s.r.awaitVisible(telling, tx.id)
		if err == nil {
			err = s.r.tell(telling, news)
		}
		told <- err
	}()
	tick := time.NewTicker(s.r.pace.beat)
	defer tick.Stop()
	for {
		select {
		case err := <-told:
			if err != nil {
				return err
			}
			s.position = max(s.position, end)
			return s.acknowledge(ctx, false)
		case <-tick.C:
			if err := s.acknowledge(ctx, false); err != nil {
				cancel()
				<-told
				return err
			}
		}
	}
}

// acknowledge says what has been told, and may ask for an answer. It goes by its
// own deadline, because the last one comes after ctx has ended.
func (s *stream) acknowledge(ctx context.Context, ask bool) error {
	s.beat = time.Now().Add(s.r.pace.beat)
	if err := s.conn.Conn().SetWriteDeadline(time.Now().Add(queryTimeout)); err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	update := pglogrepl.StandbyStatusUpdate{WALWritePosition: s.position, ReplyRequested: ask}
	if err := pglogrepl.SendStandbyStatusUpdate(ctx, s.conn, update); err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	return nil
}

// finish acknowledges for the last time and ends the stream. It waits for the
// server's answer: by then the slot is free, and its position is the right one.
func (s *stream) finish(ctx context.Context) {
	if s.conn.IsClosed() || s.acknowledge(ctx, false) != nil {
		return
	}
	_ = s.conn.Conn().SetDeadline(time.Now().Add(stopTimeout))
	_, _ = pglogrepl.SendStandbyCopyDone(ctx, s.conn) // nothing is lost without it
}
