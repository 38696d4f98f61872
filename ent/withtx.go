// Package ent is the rows of the database: what ent writes from ent/schema, and a
// few helpers written by hand.
package ent

import (
	"context"
	"errors"
	"fmt"
)

// Written by hand, unlike its neighbours.

// WithTx runs work in a transaction. If work fails, the transaction is undone
// and the error is that of work; after an error of the commit nobody can say
// whether it happened.
func WithTx(ctx context.Context, client *Client, work func(*Tx) error) error {
	tx, err := client.Tx(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := work(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// WithTxAgain is [WithTx], and once more if the database undid the transaction for the
// sake of another one, as undone tells of its error. So work has to begin from nothing
// that it left behind.
func WithTxAgain(ctx context.Context, client *Client, undone func(error) bool, work func(*Tx) error) error {
	err := WithTx(ctx, client, work)
	if undone(err) {
		err = WithTx(ctx, client, work)
	}
	return err
}
