// Package judge decides whether a reply of a service that is not ours is right: as the first good reply to the
// same request was, as a recorded one, by its status alone, or by a JSON Schema. It knows nothing of how
// the reply came, and says what it does not compare.
//
// # What is compared
//
// The status, and the body: by its bytes first, which costs nothing more; else, where both are JSON, by their
// content. Order of members and white space do not count, and numbers are equal by value, however
// large: 1, 1.0 and 10e-1 are one number, and 0 and -0 are, too; nothing is rounded. A body may be several values
// of JSON one after another. Ignored parts are not compared, not even whether they are there; ignored
// elements of an array still count as elements. Header fields are not compared.
package judge
