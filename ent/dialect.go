package ent

// Written by hand, unlike its neighbours.

// Dialect returns the dialect of the database: "postgres" or "sqlite3".
func (c *Client) Dialect() string { return c.driver.Dialect() }
