// Package grpccall calls any method of gRPC with messages that are bytes already: by grpc-go, and by
// connect-go over whatever sends its HTTP requests, such as the raw driver's transport. All four kinds
// of call are one: every request message is sent, the sending half is closed, and then the replies are
// read. It knows neither a schema nor what a right reply is.
package grpccall
