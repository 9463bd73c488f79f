// Package directory is the work of a person directory: list the persons, look
// one up, list whom a person knows, add one, and a program that needs eight
// such calls. It is the domain alone and knows no transport; folder bind
// carries it over each.
//
// # The contract
//
// Every server, on every wire, answers as [Memory] does.
//
//   - A person's id has 1 to 64 ([IDLimit]) characters of A-Z a-z 0-9 . _ ~ -
//     and is not "." nor "..", since it is also an element of a path. Any other
//     id, in any request, is InvalidArgument.
//   - Texts are valid UTF-8 of at most 256 bytes ([TextLimit]), a picture's
//     URLs of at most 2,048 ([URLLimit]); else InvalidArgument. They may be
//     empty and may hold any character, NUL included. A URL is text: nobody
//     reads it. A PostCode is any 32 bit number.
//   - A person has a picture or has none; a picture whose three URLs are empty
//     is a picture. A name or a location that is absent from a message reads
//     as one whose texts are empty.
//   - ListPersons returns one page: the data set in its order, then the created
//     persons, oldest first. It begins behind the person After, which must
//     exist, else NotFound, or with the first where After is empty. Limit is
//     at most 10,000 ([PageLimit]), which 0 stands for too; outside 0 to
//     10,000 it is InvalidArgument. Next is the id of the page's last person if
//     the page is full, so that there may be more; else it is empty. Nothing
//     may follow a full page.
//   - GetPerson returns the person of the id, GetPersonLinks the links in which
//     the person is on either side, in the data set's order, each with both
//     persons whole. An id nobody has is NotFound. A created person has no links.
//   - CreatePerson stores the person and returns it as it was stored. An id
//     that exists, in the data set or created, is Conflict.
//   - The server keeps the persons created last: at most 10,000 ([CreatedLimit])
//     and at most 512 KiB of their text ([CreatedText]). It forgets the oldest
//     of them, whose ids are then free; it never forgets the data set. So no
//     caller makes memory grow, and a page, full of whatever, stays below
//     [wirelab.MessageLimit] in every encoding.
//   - ProgramComposition is eight calls in this order: list the first Limit
//     persons, get four persons, get the links of two, create New. The first
//     that fails is the composition's error, and those after it are not made;
//     a request outside the contract fails before the first. The reply is what
//     the calls returned, the created person appended to the list, and counted.
//     It is a program at the caller's, not a call that services know: every
//     stub makes the calls one after the other with [Compose], but one whose
//     wire can ask for all at once.
//
// Requests are checked where they are sent as well as where they arrive, since
// wires differ in what they do with text that is not UTF-8.
//
// # What differs from the origin, and why
//
// The published service stores nothing, looks persons up in a list without an
// end, throws what it does not find, and derives its contract from the source
// of one language (docs/origins.md mt-D01 to mt-D05). Here creating stores,
// conflicts and is bounded, lookups are indexed, pages have an end, what is not
// there is NotFound on every wire, and the numbers of the schema's fields are
// written down. As creating stores, a list without a limit would grow while a
// load creates; the published requests therefore ask for as many persons as
// the data set has, which is what the origin's list returns. Its create sends
// the street as the city on one of its wires (mt-M11); here every wire is sent
// the same person, and must give the same back.
//
// [AsPublished] makes any service create as the origin does, and the data set
// [PublishedData] is the origin's own, so that its programs run against our
// servers and its servers can be measured by our clients.
package directory
