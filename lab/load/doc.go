// Package load drives calls at a schedule and records how long they took. It
// knows neither what a call does nor which wire carries it: a call is a
// func(ctx) error.
//
// # Open loop and closed loop
//
// With a [Schedule] the loop is open: arrival k is due at t0 + T_k, whatever
// happened before it, and its response time counts from when it was due. A
// stalled server is so charged for every request that it kept from being
// sent, not for one per worker. Without a schedule the loop is closed: every
// worker calls again as soon as its last call returned, and the two answer
// different questions.
//
// # The edges of a window
//
// A run of Duration starts with Head, which is not recorded. The window is
// the rest, [Head, Duration) from t0.
//
//   - A call is recorded in the histograms and counts if it was due (closed
//     loop: begun) in the window. It may end after it: it is given until
//     Drain has passed.
//   - Throughput is the calls that succeeded at a time inside the window,
//     even those begun in Head, divided by the window's length.
//   - An arrival due in the window that no worker was free to send is still
//     sent after the window's end, until Drain has passed. What is then left
//     is counted as Unsent, and its age recorded in Failed.
//   - A call still running when Drain has passed has its context cancelled
//     and counts as an error of kind [Unfinished].
//
// # No goroutine per request
//
// One worker at a time leads: it takes the next arrival, waits until that is
// due, passes the lead on, and then performs the call itself. So nothing is
// handed from a dispatcher to a worker at the moment of sending, memory is
// bounded by the number of workers, and an arrival that finds no worker free
// is simply sent late, and counted from when it was due.
package load
