package voucher

import (
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/text"
)

// Bounds of a voucher. Text lengths are in characters.
const (
	MaxTitle    = 120
	MaxSubTitle = 200
	MaxRules    = 2000
	MaxValue    = 100_000_000 // minor units; the minimum is 1
	MaxStock    = 1_000_000   // items of a sale, including sold ones
	MaxWindow   = 366 * 24 * time.Hour
	MaxLeadTime = 366 * 24 * time.Hour // until a sale begins; its keys are in Redis meanwhile

	maxPerBucket = 4000 // maximum buyers in one Redis bucket of a sale
)

// clean returns the changes with normalised texts, for check and storage.
func (c Changes) clean() Changes {
	c.Title = cleaned(c.Title, text.Line)
	c.SubTitle = orClear(cleaned(c.SubTitle, text.Line))
	c.Rules = orClear(cleaned(c.Rules, text.Paragraphs))
	return c
}

// cleaned normalises a text. A text without visible characters becomes "".
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

func orClear(f optional.Field[string]) optional.Field[string] {
	if f.Given && optional.Value(f.Value) == "" {
		return optional.Clear[string]()
	}
	return f
}

func (c Changes) check() apierror.UserErrors {
	var wrong apierror.UserErrors
	title := optional.Value(c.Title.Value)
	switch {
	case !c.Title.Given:
	case title == "":
		wrong.Add(apierror.InvalidInput, "title", "Enter a title.")
	case text.Len(title) > MaxTitle:
		wrong.Add(apierror.InvalidInput, "title", "Use at most %d characters for the title.", MaxTitle)
	}
	if text.Len(optional.Value(c.SubTitle.Value)) > MaxSubTitle {
		wrong.Add(apierror.InvalidInput, "subTitle", "Use at most %d characters for the subtitle.", MaxSubTitle)
	}
	if text.Len(optional.Value(c.Rules.Value)) > MaxRules {
		wrong.Add(apierror.InvalidInput, "rules", "Use at most %d characters for the rules.", MaxRules)
	}
	if c.Status.Given {
		switch optional.Value(c.Status.Value) {
		case OnSale, OffSale:
		case Expired:
			wrong.Add(apierror.InvalidInput, "status", "You can't set a voucher to expired. Take it off sale instead.")
		default:
			wrong.Add(apierror.InvalidInput, "status", "Choose on sale or off sale.")
		}
	}
	return wrong
}

// check returns all errors of cleaned details. A voucher is worth at least its price and is
// never free.
func (d Details) check() apierror.UserErrors {
	wrong := d.changes().check()
	if d.PayValue < 1 || d.PayValue > MaxValue {
		wrong.Add(apierror.InvalidInput, "payValue", "The price must be 1 to %d.", MaxValue)
	}
	switch {
	case d.FaceValue < 1 || d.FaceValue > MaxValue:
		wrong.Add(apierror.InvalidInput, "faceValue", "The value must be 1 to %d.", MaxValue)
	case d.FaceValue < d.PayValue && d.PayValue <= MaxValue:
		wrong.Add(apierror.InvalidInput, "faceValue", "The value must be at least the price.")
	}
	return wrong
}

func (d FlashDetails) check(now time.Time) apierror.UserErrors {
	wrong := d.Details.check()
	if d.Stock < 1 || d.Stock > MaxStock {
		wrong.Add(apierror.InvalidInput, "stock", "The stock must be 1 to %d.", MaxStock)
	}
	w := window{d.BeginsAt.UnixMilli(), d.EndsAt.UnixMilli()}
	if !w.check(&wrong, "endsAt") && w.ends <= now.UnixMilli() {
		wrong.Add(apierror.InvalidInput, "endsAt", "Choose an end time in the future.")
	}
	w.checkBegin(&wrong, now)
	return wrong
}

// A window is the period of a sale in milliseconds, from begins to before ends.
type window struct{ begins, ends int64 }

// check adds the errors of a window, for the given field, and reports whether there are any.
func (w window) check(wrong *apierror.UserErrors, field string) bool {
	switch {
	case w.ends <= w.begins:
		wrong.Add(apierror.InvalidInput, field, "The end must be after the start.")
	case w.ends-w.begins > MaxWindow.Milliseconds():
		wrong.Add(apierror.InvalidInput, field, "A sale can last at most 366 days.")
	default:
		return false
	}
	return true
}

// checkBegin adds an error if the window starts too late.
func (w window) checkBegin(wrong *apierror.UserErrors, now time.Time) {
	if w.begins > now.Add(MaxLeadTime).UnixMilli() {
		wrong.Add(apierror.InvalidInput, "beginsAt", "The start must be within 366 days.")
	}
}
