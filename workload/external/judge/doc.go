// Package judge decides whether a reply of a service that is not ours is correct: by comparison with the first good
// reply to the same request or with a recorded one, by its status alone, or by a JSON Schema. It does not know how
// the reply arrived, and it says which parts it does not compare.
//
// # What is compared
//
// The status and the body are compared. The bytes of the body are compared first, because that is cheapest. If they
// differ and both bodies are JSON, their content is compared. The order of members and white space do not matter.
// Numbers are equal by value, however large: 1, 1.0 and 10e-1 are equal, and so are 0 and -0; nothing is rounded.
// A body may consist of several JSON values. Ignored parts are not compared, and may be absent. Ignored elements of
// an array still count as elements. Header fields are not compared.
package judge
