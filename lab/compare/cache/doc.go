// Package cache compares common ways to cache rows in Redis with Tandian's, under one harness:
// libraries, and commonly taught schemes of a few lines, correct and wrong.
//
// A [Scheme] is one process of such a way. Four programs test all of them: [Race] counts stale
// reads under random reads and writes, [Hot] measures the expiry of a key with many readers, [Hit]
// and [Local] measure the cost of a hit, and [Anomalies] forces single interleavings and reports
// which schemes survive.
//
// The tests make the figures of the harness credible: they assert that the known wrong schemes
// fail.
package cache
