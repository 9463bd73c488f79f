package raw

import (
	"encoding/binary"
	"fmt"
)

// The frames of HTTP/2 (RFC 9113 §6).
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	framePriority     = 0x2
	frameReset        = 0x3
	frameSettings     = 0x4
	framePush         = 0x5
	framePing         = 0x6
	frameGoAway       = 0x7
	frameWindow       = 0x8
	frameContinuation = 0x9

	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20

	frameHead = 9 // bytes before the payload
)

// The parameters of SETTINGS (RFC 9113 §6.5.2).
const (
	settingTable      = 0x1
	settingPush       = 0x2
	settingStreams    = 0x3
	settingWindow     = 0x4
	settingFrame      = 0x5
	settingHeaderList = 0x6
)

// The reasons of RST_STREAM and GOAWAY (RFC 9113 §7) that are used here.
const (
	reasonNone        = 0x0
	reasonProtocol    = 0x1
	reasonFlow        = 0x3
	reasonFrameSize   = 0x6
	reasonRefused     = 0x7
	reasonCancel      = 0x8
	reasonCompression = 0x9
	reasonCalm        = 0xb
)

// reasonName is a reason by the name that the RFC gives it.
func reasonName(reason uint32) string {
	names := [...]string{
		"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
		"FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
		"INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
	}
	if uint64(reason) < uint64(len(names)) {
		return names[reason]
	}
	return fmt.Sprintf("reason %d", reason)
}

// What HTTP/2 begins with (RFC 9113 §6.9.2, §6.5.2, §3.4).
const (
	windowDefault = 1<<16 - 1
	windowMax     = 1<<31 - 1
	frameDefault  = 1 << 14
	frameMax      = 1<<24 - 1
	tableDefault  = 4096
	streamMax     = 1<<31 - 1

	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// wireError is a peer's breach of the protocol. It ends the connection.
type wireError struct {
	reason uint32 // of GOAWAY; 0 on HTTP/1.1
	what   string
}

// Error implements error.
func (e *wireError) Error() string { return e.what }

func breach(reason uint32, format string, args ...any) error {
	return &wireError{reason: reason, what: fmt.Sprintf(format, args...)}
}

// frame is one frame. Its payload is part of the buffer that it was read from.
type frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
}

func (f *frame) has(flag byte) bool { return f.flags&flag != 0 }

// nextFrame cuts the first frame off data and returns its length with the
// header's. 0 means that it is not whole yet.
func nextFrame(data []byte, f *frame) (int, error) {
	if len(data) < frameHead {
		return 0, nil
	}
	head := binary.BigEndian.Uint32(data)
	length := int(head >> 8)
	if length > frameDefault { // what we take; SETTINGS never raises it
		return 0, breach(reasonFrameSize, "frame of %d bytes", length)
	}
	if len(data) < frameHead+length {
		return 0, nil
	}
	f.kind, f.flags = byte(head), data[4]
	f.stream = binary.BigEndian.Uint32(data[5:]) & streamMax
	f.payload = data[frameHead : frameHead+length : frameHead+length]
	return frameHead + length, nil
}

// body returns the payload of DATA or HEADERS without padding and priority.
func (f *frame) body() ([]byte, error) {
	p := f.payload
	if f.flags&(flagPadded|flagPriority) == 0 {
		return p, nil
	}
	pad := 0
	if f.has(flagPadded) {
		if len(p) == 0 {
			return nil, breach(reasonFrameSize, "padded frame without padding's length")
		}
		pad, p = int(p[0]), p[1:]
	}
	if f.kind == frameHeaders && f.has(flagPriority) {
		if len(p) < 5 {
			return nil, breach(reasonFrameSize, "HEADERS too short for a priority")
		}
		p = p[5:]
	}
	if pad > len(p) {
		return nil, breach(reasonProtocol, "padding of %d bytes in a frame of %d", pad, len(p))
	}
	return p[:len(p)-pad], nil
}

// appendFrame appends the header of a frame whose payload the caller appends.
func appendFrame(dst []byte, length int, kind, flags byte, stream uint32) []byte {
	return append(dst, byte(length>>16), byte(length>>8), byte(length), kind, flags,
		byte(stream>>24), byte(stream>>16), byte(stream>>8), byte(stream))
}

// setStream writes the stream of a frame whose header is at the start of head.
func setStream(head []byte, stream uint32) { binary.BigEndian.PutUint32(head[5:], stream) }

// setting is a parameter and its value.
type setting struct {
	name  uint16
	value uint32
}

func appendSettings(dst []byte, settings ...setting) []byte {
	dst = appendFrame(dst, 6*len(settings), frameSettings, 0, 0)
	for _, s := range settings {
		dst = binary.BigEndian.AppendUint16(dst, s.name)
		dst = binary.BigEndian.AppendUint32(dst, s.value)
	}
	return dst
}

func appendWindow(dst []byte, stream, by uint32) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(dst, 4, frameWindow, 0, stream), by)
}

func appendReset(dst []byte, stream, reason uint32) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(dst, 4, frameReset, 0, stream), reason)
}

func appendGoAway(dst []byte, last, reason uint32) []byte {
	dst = appendFrame(dst, 8, frameGoAway, 0, 0)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, last), reason)
}

// appendHeaders appends a header block in frames of at most limit bytes.
func appendHeaders(dst []byte, stream uint32, block []byte, end bool, limit int) []byte {
	var flags byte
	if end {
		flags = flagEndStream
	}
	kind := byte(frameHeaders)
	for len(block) > limit {
		dst = append(appendFrame(dst, limit, kind, flags, stream), block[:limit]...)
		block, kind, flags = block[limit:], frameContinuation, 0
	}
	return append(appendFrame(dst, len(block), kind, flags|flagEndHeaders, stream), block...)
}
