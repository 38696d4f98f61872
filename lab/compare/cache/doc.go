// Package cache compares Tandian's cache of rows in Redis with libraries and with commonly taught
// schemes, correct and wrong.
//
// A [Scheme] is one process of a scheme or library. Five programs test all of them: [Race] counts stale
// reads under random reads and writes, [Hot] measures the expiry of a key with many readers, [Hit]
// and [Local] measure the cost of a hit, and [Anomalies] forces single interleavings and reports
// which schemes survive.
//
// The tests assert that the known wrong schemes fail, so the results of the others are credible.
package cache
