package exchange

// Noticed reports whether every connection that no call uses has been found
// to be gone.
func Noticed(c *Client) bool {
	all := true
	for range cap(c.slots) {
		s := <-c.slots
		all = all && (s.link == nil || s.gone.Load())
		c.slots <- s
	}
	return all
}
