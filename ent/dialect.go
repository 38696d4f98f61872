package ent

// This file is hand-written.

// Dialect returns the dialect of the database: "postgres" or "sqlite3".
func (c *Client) Dialect() string { return c.driver.Dialect() }
