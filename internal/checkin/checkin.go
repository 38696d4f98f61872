// Package checkin lets people check in, once a day.
package checkin

import (
	"context"
	"errors"
)

// A Month is on which days of a month somebody checked in.
type Month struct {
	Month  string // yyyy-mm
	Days   []int  // ascending
	Streak int    // days in a row up to today, or up to yesterday as long as today has none
}

// Count is how many days have a check-in.
func (m *Month) Count() int { return len(m.Days) }

// Service is the room.
type Service struct{}

// CheckIn checks a user in for today.
func (s *Service) CheckIn(ctx context.Context, user int64) (m *Month, earned int, err error) {
	return nil, 0, errors.ErrUnsupported
}

// Month returns a user's check-ins of a month, as yyyy-mm; "" is this month.
func (s *Service) Month(ctx context.Context, user int64, month string) (*Month, error) {
	return nil, errors.ErrUnsupported
}
