// Package judge decides whether a reply of a service that is not ours is right: by comparison with the first good
// reply to the same request or with a recorded one, by its status alone, or by a JSON Schema. It does not know how
// the reply arrived, and states what it does not compare.
//
// # Comparison
//
// The status, and the body: by its bytes first, which costs nothing more; else, if both are JSON, by their content.
// The order of members and white space do not matter, and numbers are equal by value, however large: 1, 1.0 and
// 10e-1 are the same number, and so are 0 and -0; nothing is rounded. A body may be several JSON values one after
// another. Ignored parts are not compared, not even for their presence; ignored elements of an array still count as
// elements. Header fields are not compared.
package judge
