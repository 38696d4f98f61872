package voucher

import (
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/text"
)

// Bounds of a voucher. Texts are counted in characters, not bytes.
const (
	MaxTitle    = 120
	MaxSubTitle = 200
	MaxRules    = 2000
	MaxValue    = 100_000_000 // minor units; the least is 1
	MaxStock    = 1_000_000   // pieces of a sale, those that are sold included
	MaxWindow   = 366 * 24 * time.Hour
	MaxLeadTime = 366 * 24 * time.Hour // of a sale's begin: until a day after its end, it is in Redis

	perBucket = 4000 // most buyers of a sale in one of its buckets in Redis
)

// clean brings the texts into the form in which they are checked and stored.
func (c Changes) clean() Changes {
	c.Title = cleaned(c.Title, text.Line)
	c.SubTitle = orClear(cleaned(c.SubTitle, text.Line))
	c.Rules = orClear(cleaned(c.Rules, text.Paragraphs))
	return c
}

// cleaned is a text as clean makes it, "" if it shows nothing.
func cleaned(f optional.Field[string], clean func(string) string) optional.Field[string] {
	if !f.Given || f.Value == nil {
		return f
	}
	s := clean(*f.Value)
	if text.Blank(s) {
		s = ""
	}
	return optional.Set(s)
}

// orClear clears a field instead of setting it to nothing.
func orClear(f optional.Field[string]) optional.Field[string] {
	if f.Given && optional.Value(f.Value) == "" {
		return optional.Clear[string]()
	}
	return f
}

// check says everything that is wrong with clean changes.
func (c Changes) check() apierror.UserErrors {
	var wrong apierror.UserErrors
	title := optional.Value(c.Title.Value)
	switch {
	case !c.Title.Given:
	case title == "":
		wrong.Add(apierror.InvalidInput, "title", "The title must not be empty.")
	case text.Len(title) > MaxTitle:
		wrong.Add(apierror.InvalidInput, "title", "Write at most %d characters for the title.", MaxTitle)
	}
	if text.Len(optional.Value(c.SubTitle.Value)) > MaxSubTitle {
		wrong.Add(apierror.InvalidInput, "subTitle", "Write at most %d characters for the second title.", MaxSubTitle)
	}
	if text.Len(optional.Value(c.Rules.Value)) > MaxRules {
		wrong.Add(apierror.InvalidInput, "rules", "Write at most %d characters for the rules.", MaxRules)
	}
	if c.Status.Given {
		switch optional.Value(c.Status.Value) {
		case OnSale, OffSale:
		case Expired:
			wrong.Add(apierror.InvalidInput, "status", "A voucher expires by itself; take it off sale instead.")
		default:
			wrong.Add(apierror.InvalidInput, "status", "A voucher is on sale or off sale.")
		}
	}
	return wrong
}

// check says everything that is wrong with clean details. A voucher is worth at
// least what it costs, and none is free.
func (d Details) check() apierror.UserErrors {
	wrong := d.changes().check()
	if d.PayValue < 1 || d.PayValue > MaxValue {
		wrong.Add(apierror.InvalidInput, "payValue", "What is to pay is 1 to %d.", MaxValue)
	}
	switch {
	case d.FaceValue < 1 || d.FaceValue > MaxValue:
		wrong.Add(apierror.InvalidInput, "faceValue", "What a voucher is worth is 1 to %d.", MaxValue)
	case d.FaceValue < d.PayValue && d.PayValue <= MaxValue:
		wrong.Add(apierror.InvalidInput, "faceValue", "A voucher is worth at least what it costs.")
	}
	return wrong
}

// check is that of the details, and of the sale as it would begin now.
func (d FlashDetails) check(now time.Time) apierror.UserErrors {
	wrong := d.Details.check()
	if d.Stock < 1 || d.Stock > MaxStock {
		wrong.Add(apierror.InvalidInput, "stock", "A sale has 1 to %d pieces.", MaxStock)
	}
	w := window{d.BeginsAt.UnixMilli(), d.EndsAt.UnixMilli()}
	if !w.check(&wrong, "endsAt") && w.ends <= now.UnixMilli() {
		wrong.Add(apierror.InvalidInput, "endsAt", "The sale would be over already.")
	}
	w.checkBegin(&wrong, now)
	return wrong
}

// A window is when a sale is open, in milliseconds: from its begin until before its end.
type window struct{ begins, ends int64 }

// check adds what is wrong with a window, about the field, and reports whether
// anything is.
func (w window) check(wrong *apierror.UserErrors, field string) bool {
	switch {
	case w.ends <= w.begins:
		wrong.Add(apierror.InvalidInput, field, "A sale ends after it begins.")
	case w.ends-w.begins > MaxWindow.Milliseconds():
		wrong.Add(apierror.InvalidInput, field, "A sale lasts at most 366 days.")
	default:
		return false
	}
	return true
}

// checkBegin adds that a window is too far away.
func (w window) checkBegin(wrong *apierror.UserErrors, now time.Time) {
	if w.begins > now.Add(MaxLeadTime).UnixMilli() {
		wrong.Add(apierror.InvalidInput, "beginsAt", "A sale begins within 366 days.")
	}
}
