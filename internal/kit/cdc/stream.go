package cdc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// A stream is one reading of the slot: the streaming replication protocol with
// the messages of pgoutput, version 1, in which transactions arrive whole, in the
// order of their commits. One goroutine uses the connection.
//
// It uses the connection's Frontend: pgconn's ReceiveMessage starts a goroutine for each
// message to watch its context. Here one function ends the read when the context does.
type stream struct {
	r         *Reader
	conn      *pgconn.PgConn
	position  pglogrepl.LSN // all that was committed before this has been told; it never goes back
	heard     time.Time     // when the server said something
	answered  time.Time     // when it heard from us
	beat      time.Time     // when it hears from us again; reads end then
	relations map[uint32]*relation
	tx        transaction // the one that is arriving
	open      bool        // one is
	seen      snapshot    // of the last question

	// Since the last rest.
	passed bool // a transaction of which nothing was told
	told   bool // one of which something was
	came   int  // bytes
}

// follow takes what comes until ctx ends, and then returns nil.
func (s *stream) follow(ctx context.Context) error {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = s.conn.Conn().SetReadDeadline(time.Now())
	})
	defer func() {
		if !stop() {
			<-ended // the next deadline must not be overwritten
		}
	}()
	if err := s.acknowledge(ctx, true); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if s.conn.Frontend().ReadBufferLen() == 0 {
			s.rest(ctx)
		}
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

// muchData is as many bytes as the kernel may keep for the reader while it rests.
const muchData = 64 << 10

// rest lets data collect before the next read, after transactions of which nothing is
// told: it costs more to be woken for each message than to read it. It returns at once
// after a change that was told, and when much has come since the last rest.
func (s *stream) rest(ctx context.Context) {
	if s.passed && !s.told && s.came < muchData {
		wakeFrom(s.conn.Conn(), muchData)
		_ = clock.Sleep(ctx, s.r.pace.rest) // the caller sees that ctx ended
		wakeFrom(s.conn.Conn(), 1)
	}
	s.passed, s.told, s.came = false, false, 0
}

// receive returns the next message, or nil when ctx ended or it was time to send
// something ourselves. It is valid until the next call.
func (s *stream) receive(ctx context.Context) ([]byte, error) {
	message, err := s.conn.Frontend().Receive()
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, nil //nolint:nilerr // the end of ctx ended the read, and the caller sees it
	case errors.Is(err, os.ErrDeadlineExceeded) && time.Since(s.heard) > s.r.pace.silence:
		return nil, fmt.Errorf("the database says nothing any more: %w", err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, s.acknowledge(ctx, true)
	default:
		return nil, fmt.Errorf("read the log: %w", err)
	}
	s.heard = time.Now()
	switch m := message.(type) {
	case *pgproto3.CopyData:
		s.came += len(m.Data)
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
		if !s.open {
			s.position = max(s.position, alive.ServerWALEnd)
		}
		if alive.ReplyRequested {
			return s.acknowledge(ctx, false)
		}
	case pglogrepl.XLogDataByteID:
		if len(data) <= envelope {
			return fmt.Errorf("read the log: %w", errMalformed)
		}
		if err := s.decode(ctx, data[envelope:]); err != nil {
			return fmt.Errorf("read a message of pgoutput: %w", err)
		}
	}
	return nil
}

// Where pgoutput's messages have what we need, behind the letter that tells their kind.
const (
	envelope    = 1 + 3*8 // of each message: the letter of XLogData, two positions, a time
	beginID     = 1 + 2*8 // in Begin: a position, a time, the id
	beginSize   = beginID + 4
	commitEnd   = 2 + 8 // in Commit: flags, a position, the end of the transaction, a time
	commitSize  = commitEnd + 16
	rowRelation = 1 // in Insert, Update and Delete: the relation, then the row
	rowVersions = rowRelation + 4
)

// decode collects a transaction, and tells of it at its commit. What comes for every
// transaction is read in place; pglogrepl would allocate each column.
func (s *stream) decode(ctx context.Context, data []byte) error {
	kind := pglogrepl.MessageType(data[0])
	switch kind {
	case pglogrepl.MessageTypeBegin:
		if len(data) < beginSize {
			return errMalformed
		}
		s.tx.begin(binary.BigEndian.Uint32(data[beginID:]))
		s.open = true
	case pglogrepl.MessageTypeInsert, pglogrepl.MessageTypeUpdate, pglogrepl.MessageTypeDelete:
		if len(data) < rowVersions {
			return errMalformed
		}
		rel := s.relations[binary.BigEndian.Uint32(data[rowRelation:])]
		if kind == pglogrepl.MessageTypeInsert {
			return s.tx.insert(rel, data[rowVersions:])
		}
		return s.tx.row(rel, data[rowVersions:])
	case pglogrepl.MessageTypeCommit:
		if len(data) < commitSize {
			return errMalformed
		}
		s.open = false
		return s.commit(ctx, pglogrepl.LSN(binary.BigEndian.Uint64(data[commitEnd:])))
	case pglogrepl.MessageTypeRelation, pglogrepl.MessageTypeTruncate:
		return s.decodeRare(data)
	default: // nothing that changes a row
	}
	return nil
}

func (s *stream) decodeRare(data []byte) error {
	message, err := pglogrepl.Parse(data)
	if err != nil {
		return err //nolint:wrapcheck // the caller says what it did
	}
	switch m := message.(type) {
	case *pglogrepl.RelationMessage:
		s.relations[m.RelationID] = s.r.relation(m)
	case *pglogrepl.TruncateMessage:
		for _, id := range m.RelationIDs {
			s.tx.truncate(s.relations[id])
		}
	}
	return nil
}

// commit tells of the transaction that has arrived and acknowledges it. Meanwhile it
// keeps telling the server that we are there, at the old position.
func (s *stream) commit(ctx context.Context, end pglogrepl.LSN) error {
	news := s.r.newsOf(&s.tx)
	if len(news) == 0 {
		s.position, s.passed = max(s.position, end), true // the next beat takes it along
		return nil
	}
	telling, cancel := context.WithCancel(ctx)
	defer cancel()
	told := make(chan error, 1)
	go func() {
		err := s.awaitVisible(telling, s.tx.id)
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
			s.position, s.told = max(s.position, end), true
			return s.acknowledgeSoon(ctx)
		case <-tick.C:
			if err := s.acknowledge(ctx, false); err != nil {
				cancel()
				<-told
				return err
			}
		}
	}
}

// acknowledgeSoon acknowledges what has been told, unless that was done just now: then the
// next beat comes early and takes it along.
func (s *stream) acknowledgeSoon(ctx context.Context) error {
	due := s.answered.Add(s.r.pace.answer)
	if !time.Now().Before(due) {
		return s.acknowledge(ctx, false)
	}
	if due.Before(s.beat) {
		return s.beatAt(due)
	}
	return nil
}

// acknowledge says what has been told, and may ask for an answer. It goes by its
// own deadline, because the last one comes after ctx has ended.
func (s *stream) acknowledge(ctx context.Context, ask bool) error {
	s.answered = time.Now()
	if err := s.conn.Conn().SetWriteDeadline(s.answered.Add(queryTimeout)); err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	update := pglogrepl.StandbyStatusUpdate{WALWritePosition: s.position, ReplyRequested: ask}
	if err := pglogrepl.SendStandbyStatusUpdate(ctx, s.conn, update); err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	return s.beatAt(s.answered.Add(s.r.pace.beat))
}

// beatAt has the next read end at this time.
func (s *stream) beatAt(at time.Time) error {
	s.beat = at
	if err := s.conn.Conn().SetReadDeadline(at); err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	return nil
}

// finish acknowledges for the last time and ends the stream. It waits for the
// server's answer: by then the slot is free, and its position is the right one.
func (s *stream) finish(ctx context.Context) {
	if s.acknowledge(ctx, false) != nil {
		return
	}
	_ = s.conn.Conn().SetDeadline(time.Now().Add(stopTimeout))
	_, _ = pglogrepl.SendStandbyCopyDone(ctx, s.conn) // nothing is lost without it
}
