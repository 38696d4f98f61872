// Package lua has the scripts of package lock: for it, and for who measures what
// it adds to them.
package lua

import _ "embed" // the scripts

// The texts, each with its contract at the top.
var (
	//go:embed acquire.lua
	Acquire string
	//go:embed release.lua
	Release string
	//go:embed extend.lua
	Extend string
	//go:embed raise.lua
	Raise string
)
