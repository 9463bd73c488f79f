// Package directory is the workload of a person directory: list the persons, look
// one up, list the persons that someone knows, add one, and a program of eight such
// calls. It contains the domain only and knows no transport; the folder bind carries
// it over each one.
//
// # The contract
//
// Every server, on every wire, answers as [Memory] does.
//
//   - A person's id has 1 to 64 ([IDLimit]) characters of A-Z a-z 0-9 . _ ~ -
//     and is neither "." nor "..", because it is also a path element. Any other
//     id, in any request, is InvalidArgument.
//   - Texts are valid UTF-8 of at most 256 bytes ([TextLimit]), a picture's
//     URLs of at most 2,048 ([URLLimit]); otherwise InvalidArgument. They may be
//     empty and may contain any character, NUL included. A URL is text: it is not
//     parsed. A PostCode is any 32 bit number.
//   - A person may have a picture or none. A picture whose three URLs are empty is
//     still a picture. A name or a location that is absent from a message reads
//     as one whose texts are empty.
//   - ListPersons returns one page: the data set in its order, then the created
//     persons, oldest first. It begins after the person After, which must exist,
//     otherwise NotFound; with an empty After it begins with the first person.
//     Limit is 0 to 10,000 ([PageLimit]), where 0 means 10,000; any other limit is
//     InvalidArgument. Next is the id of the page's last person if the page is full,
//     because there may be more; otherwise it is empty. A full page may also be the
//     last one.
//   - GetPerson returns the person with the id. GetPersonLinks returns the links
//     that have the person on either side, in the data set's order, each with both
//     complete persons. An unknown id is NotFound. A created person has no links.
//   - CreatePerson stores the person and returns it as it was stored. An id
//     that exists, in the data set or created, is Conflict.
//   - The server keeps the latest created persons: at most 10,000 ([CreatedLimit])
//     and at most 512 KiB of their text ([CreatedText]). It forgets the oldest
//     of them, whose ids are then free; it never forgets the data set. So no
//     caller can make memory grow, and every full page stays below
//     [wirelab.MessageLimit] in every encoding.
//   - ProgramComposition is eight calls in this order: list the first Limit
//     persons, get four persons, get the links of two, create New. The error of the
//     first call that fails is the error of the composition, and the calls after it
//     are not made; a request outside the contract fails before the first call. The
//     reply has the results of the calls; the created person is appended to the list
//     and counted. The caller runs this program, it is not a call of the service:
//     every stub makes the calls one after the other with [Compose], except a stub
//     whose wire can request all of them at once.
//
// Requests are checked both where they are sent and where they arrive, because wires
// treat text that is not UTF-8 in different ways.
//
// # Differences from the origin
//
// The published service stores nothing, searches persons in an unbounded list, throws
// an exception for an unknown person, and derives its contract from the source
// of one language (docs/origins.md mt-D01 to mt-D05). Here creating stores the person,
// can conflict and is bounded; lookups use an index; pages are bounded; an unknown
// person is NotFound on every wire; and the field numbers of the schema are
// written down. Because creating stores, a list without a limit would grow while a
// load creates persons. So the published requests ask for as many persons as
// the data set has, which is what the origin's list returns. The origin's client sends
// the street as the city on one of its wires (mt-M11); here every wire carries
// the same person, and must return the same person.
//
// [AsPublished] makes any service create as the origin does, and the data set
// [PublishedData] has the origin's persons. So the origin's programs run against our
// servers, and our clients can measure the origin's servers.
package directory
