// Package ent contains the database entities: the code that ent generates from ent/schema,
// and a few hand-written helpers.
package ent

import (
	"context"
	"errors"
	"fmt"
)

// This file is hand-written.

// WithTx runs work in a transaction. If work fails, WithTx rolls back and returns the
// error of work. After an error of the commit, it is unknown whether it happened.
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

// WithTxAgain is [WithTx] with one retry if retryable returns true for the error, such as
// after a deadlock. So work must not depend on what an earlier run left behind.
func WithTxAgain(ctx context.Context, client *Client, retryable func(error) bool, work func(*Tx) error) error {
	err := WithTx(ctx, client, work)
	if retryable(err) {
		err = WithTx(ctx, client, work)
	}
	return err
}
