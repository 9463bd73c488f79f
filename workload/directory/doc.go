// Package directory is the workload of a person directory: list the persons, look
// one up, list the links of a person, add a person, and a program that needs eight
// such calls. It contains the domain only and knows no transport; folder bind
// carries it over each.
//
// # The contract
//
// Every server, on every wire, answers as [Memory] does.
//
//   - A person's id has 1 to 64 ([IDLimit]) characters of A-Z a-z 0-9 . _ ~ -
//     and is neither "." nor "..", because it is also a path element. Any other
//     id, in any request, is InvalidArgument.
//   - Texts are valid UTF-8 of at most 256 bytes ([TextLimit]), a picture's
//     URLs of at most 2,048 ([URLLimit]); else InvalidArgument. They may be
//     empty and may contain any character, NUL included. A URL is text that is
//     not interpreted. A PostCode is any 32 bit number.
//   - A person has a picture or has none; a picture whose three URLs are empty
//     is a picture. A name or a location that is absent from a message reads
//     as one whose texts are empty.
//   - ListPersons returns one page: the data set in its order, then the created
//     persons, oldest first. It begins after the person After, which must
//     exist, else NotFound, or with the first person if After is empty. Limit is
//     at most 10,000 ([PageLimit]); 0 means 10,000; outside 0 to 10,000 it is
//     InvalidArgument. Next is the id of the page's last person if the page is
//     full, so that there may be more; else it is empty. A full page may be the
//     last one.
//   - GetPerson returns the person with the id, GetPersonLinks the links in which
//     the person is on either side, in the data set's order, each with both
//     persons complete. An unknown id is NotFound. A created person has no links.
//   - CreatePerson stores the person and returns it as it was stored. An id
//     that exists, in the data set or created, is Conflict.
//   - The server keeps the latest created persons: at most 10,000 ([CreatedLimit])
//     and at most 512 KiB of their text ([CreatedText]). It drops the oldest
//     of them, whose ids become free; it never drops the data set. So callers
//     cannot make memory grow, and a full page, whatever its contents, stays below
//     [wirelab.MessageLimit] in every encoding.
//   - ProgramComposition is eight calls in this order: list the first Limit
//     persons, get four persons, get the links of two, create New. The error of
//     the first call that fails is the error of the composition, and the calls
//     after it are not made. A request outside the contract fails before the
//     first call. The reply has what the calls returned, with the created person
//     appended to the list, and counted. The program runs in the client: services
//     do not implement it. Every stub makes the calls one after the other with
//     [Compose], except the stub of a wire that can request all at once.
//
// Requests are checked where they are sent as well as where they arrive, since
// wires differ in their treatment of text that is not UTF-8.
//
// # Differences from the origin, and why
//
// The published service stores nothing, searches persons in an unbounded list,
// throws an exception if it finds none, and derives its contract from the source
// of one language (docs/origins.md mt-D01 to mt-D05). Here creating stores,
// conflicts and is bounded, lookups are indexed, pages are bounded, a missing
// person is NotFound on every wire, and the schema has explicit field numbers.
// Because creating stores, a list without a limit would grow while a load
// creates. The published requests therefore ask for as many persons as the data
// set has, which is what the origin's list returns. Its create sends the street
// as the city on one of its wires (mt-M11); here every wire is sent the same
// person, and must return the same.
//
// [AsPublished] makes any service create as the origin does, and the data set
// [PublishedData] has the origin's persons. So the origin's programs run against our
// servers, and our clients can measure the origin's servers.
package directory
