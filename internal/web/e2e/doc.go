// Package e2e tests Tandian in a browser, as people see it: the real program, embedded
// and on PostgreSQL and Redis, and the pages that it serves. The tests are the
// *.spec.ts beside it, for Playwright; README.md says how to write one. They run with
// the build tag e2e, by
//
//	make e2e
package e2e
