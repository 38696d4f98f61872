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

// A stream is one session of the slot: the streaming replication protocol with the
// messages of pgoutput, version 1. Transactions arrive whole, in the order of their
// commits. One goroutine uses the connection.
//
// A stream uses the connection's Frontend: pgconn's ReceiveMessage starts a goroutine for
// each message to watch its context. Here one function ends the read when the context
// does.
type stream struct {
	r            *Reader
	conn         *pgconn.PgConn
	position     pglogrepl.LSN // all commits before it are delivered; it never decreases
	lastReceived time.Time     // time of the last message of the server
	lastSent     time.Time     // time of the last status update
	nextBeat     time.Time     // time of the next status update; reads end then
	relations    map[uint32]*relation
	tx           transaction // the current transaction
	open         bool        // between Begin and Commit
	snapshot     snapshot    // the latest one

	// Since the last pause.
	skipped   bool // a transaction without deliveries
	delivered bool // a transaction with deliveries
	received  int  // bytes
}

// follow handles messages until ctx ends, and then returns nil.
func (s *stream) follow(ctx context.Context) error {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = s.conn.Conn().SetReadDeadline(time.Now())
	})
	defer func() {
		if !stop() {
			<-ended // it must not overwrite the next deadline
		}
	}()
	if err := s.acknowledge(ctx, true); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if s.conn.Frontend().ReadBufferLen() == 0 {
			s.collect(ctx)
		}
		data, err := s.receive(ctx)
		if err != nil {
			return err
		}
		if err := s.handle(ctx, data); err != nil {
			return err
		}
	}
	return nil
}

// maxCollect is how many bytes the kernel may buffer during a pause.
const maxCollect = 64 << 10

// collect lets data collect before the next read, after transactions without deliveries:
// a wake-up per message costs more than reading it. It returns at once after a
// transaction with deliveries, and if much data has arrived since the last pause.
func (s *stream) collect(ctx context.Context) {
	if s.skipped && !s.delivered && s.received < maxCollect {
		setWakeSize(s.conn.Conn(), maxCollect)
		_ = clock.Sleep(ctx, s.r.intervals.collect) // the caller checks ctx
		setWakeSize(s.conn.Conn(), 1)
	}
	s.skipped, s.delivered, s.received = false, false, 0
}

// receive returns the next message, or nil if ctx ended or a status update was due. The
// message is valid until the next call.
func (s *stream) receive(ctx context.Context) ([]byte, error) {
	message, err := s.conn.Frontend().Receive()
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, nil //nolint:nilerr // the end of ctx ended the read; the caller checks ctx
	case errors.Is(err, os.ErrDeadlineExceeded) && time.Since(s.lastReceived) > s.r.intervals.silence:
		return nil, fmt.Errorf("read log: server is silent: %w", err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, s.acknowledge(ctx, true)
	default:
		return nil, fmt.Errorf("read log: %w", err)
	}
	s.lastReceived = time.Now()
	switch m := message.(type) {
	case *pgproto3.CopyData:
		s.received += len(m.Data)
		return m.Data, nil
	case *pgproto3.ErrorResponse:
		return nil, fmt.Errorf("read log: %w", pgconn.ErrorResponseToPgError(m))
	case *pgproto3.NoticeResponse, *pgproto3.ParameterStatus:
		return nil, nil
	}
	return nil, fmt.Errorf("read log: unexpected message %T", message)
}

// handle processes a message of the protocol, or one of pgoutput in its envelope.
func (s *stream) handle(ctx context.Context, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	switch data[0] {
	case pglogrepl.PrimaryKeepaliveMessageByteID:
		alive, err := pglogrepl.ParsePrimaryKeepaliveMessage(data[1:])
		if err != nil {
			return fmt.Errorf("decode keepalive: %w", err)
		}
		// Between transactions all commits up to here have arrived, so the slot need not
		// retain the WAL of other tables.
		if !s.open {
			s.position = max(s.position, alive.ServerWALEnd)
		}
		if alive.ReplyRequested {
			return s.acknowledge(ctx, false)
		}
	case pglogrepl.XLogDataByteID:
		if len(data) <= envelope {
			return fmt.Errorf("read log: %w", errMalformed)
		}
		if err := s.decode(ctx, data[envelope:]); err != nil {
			return fmt.Errorf("decode message of pgoutput: %w", err)
		}
	}
	return nil
}

// Offsets in pgoutput's messages. The first byte is the kind.
const (
	envelope    = 1 + 3*8 // of each message: the letter of XLogData, two positions, a time
	beginID     = 1 + 2*8 // in Begin: a position, a time, the id
	beginSize   = beginID + 4
	commitEnd   = 2 + 8 // in Commit: flags, a position, the end of the transaction, a time
	commitSize  = commitEnd + 16
	rowRelation = 1 // in Insert, Update and Delete: the relation, then the row
	rowVersions = rowRelation + 4
)

// decode collects a transaction, and delivers it at its commit. The frequent messages are
// decoded in place; pglogrepl would allocate each column.
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
	default: // no change of a row
	}
	return nil
}

func (s *stream) decodeRare(data []byte) error {
	message, err := pglogrepl.Parse(data)
	if err != nil {
		return err //nolint:wrapcheck // the caller wraps it
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

// commit delivers the current transaction and acknowledges it. Meanwhile it sends status
// updates with the old position.
func (s *stream) commit(ctx context.Context, end pglogrepl.LSN) error {
	deliveries := s.r.deliveriesOf(&s.tx)
	if len(deliveries) == 0 {
		s.position, s.skipped = max(s.position, end), true // the next status update includes it
		return nil
	}
	deliverCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		err := s.awaitVisible(deliverCtx, s.tx.id)
		if err == nil {
			err = s.r.deliver(deliverCtx, deliveries)
		}
		result <- err
	}()
	tick := time.NewTicker(s.r.intervals.beat)
	defer tick.Stop()
	for {
		select {
		case err := <-result:
			if err != nil {
				return err
			}
			s.position, s.delivered = max(s.position, end), true
			return s.acknowledgeSoon(ctx)
		case <-tick.C:
			if err := s.acknowledge(ctx, false); err != nil {
				cancel()
				<-result
				return err
			}
		}
	}
}

// acknowledgeSoon acknowledges the deliveries. If the last update was a moment ago, it
// schedules the next one earlier.
func (s *stream) acknowledgeSoon(ctx context.Context) error {
	due := s.lastSent.Add(s.r.intervals.minAck)
	if !time.Now().Before(due) {
		return s.acknowledge(ctx, false)
	}
	if due.Before(s.nextBeat) {
		return s.setBeat(due)
	}
	return nil
}

// acknowledge sends a status update, and may request a reply. It sets its own deadline,
// because the last update follows the end of ctx.
func (s *stream) acknowledge(ctx context.Context, requestReply bool) error {
	s.lastSent = time.Now()
	if err := s.conn.Conn().SetWriteDeadline(s.lastSent.Add(queryTimeout)); err != nil {
		return fmt.Errorf("acknowledge log position: %w", err)
	}
	update := pglogrepl.StandbyStatusUpdate{WALWritePosition: s.position, ReplyRequested: requestReply}
	if err := pglogrepl.SendStandbyStatusUpdate(ctx, s.conn, update); err != nil {
		return fmt.Errorf("acknowledge log position: %w", err)
	}
	return s.setBeat(s.lastSent.Add(s.r.intervals.beat))
}

// setBeat makes the next read end at this time.
func (s *stream) setBeat(at time.Time) error {
	s.nextBeat = at
	if err := s.conn.Conn().SetReadDeadline(at); err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	return nil
}

// finish acknowledges for the last time and ends the stream. It waits for the server's
// answer: after that the slot is free, and its position is correct.
func (s *stream) finish(ctx context.Context) {
	if s.acknowledge(ctx, false) != nil {
		return
	}
	_ = s.conn.Conn().SetDeadline(time.Now().Add(stopTimeout))
	_, _ = pglogrepl.SendStandbyCopyDone(ctx, s.conn) // nothing is lost if it fails
}
