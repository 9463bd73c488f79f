// Package load makes calls on a schedule and records how long they took. It knows neither what a call does nor which
// wire carries it: a call is a func(ctx) error.
//
// # Open loop and closed loop
//
// With a [Schedule] the loop is open: arrival k is due at t0 + T_k, whatever happened before it, and its response time
// counts from when it was due. A stalled server is thus charged for every request that could not be sent because of it,
// and not for one request per worker. Without a schedule the loop is closed: every worker makes the next call as soon
// as its last one returned. The two loops answer different questions.
//
// # The edges of a window
//
// A run of Duration begins with Head, which is not recorded. The window is the rest: [Head, Duration) from t0.
//
//   - A call is recorded in the histograms and counts if it was due (closed loop: if it began) in the window. It may
//     end after the window, until Drain has passed.
//   - Throughput is the number of calls that succeeded at a time inside the window, even of those that began in Head,
//     divided by the window's length.
//   - An arrival that is due in the window, but finds no free worker, is still sent after the end of the window, until
//     Drain has passed. The rest counts as Unsent, with its age recorded in Failed.
//   - If a call is still running when Drain has passed, its context is cancelled, and it counts as an error of kind
//     [Unfinished].
//
// # No goroutine per request
//
// One worker at a time leads: it takes the next arrival, waits until it is due, passes the lead on, and then makes the
// call itself. So no dispatcher passes work to another goroutine at the moment of sending, and the number of workers
// bounds the memory. An arrival that finds no free worker is sent late, and counted from when it was due.
package load
