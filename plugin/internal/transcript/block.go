package transcript

import "github.com/tidwall/gjson"

// content writes the content of a message or of a block: a text, or an array of
// blocks and texts.
func (s *Sanitizer) content(v gjson.Result, l label, depth int) {
	switch {
	case v.Type == gjson.JSON && depth > maxDepth:
		s.tooDeep()
	case v.IsObject():
		s.block(v, l, depth)
	case v.IsArray():
		s.array(v, (*Sanitizer).content, l, depth)
	default:
		s.value(v, l, depth)
	}
}

// block writes one block of content.
func (s *Sanitizer) block(v gjson.Result, l label, depth int) {
	switch v.Get("type").Str { // nearly always the first member
	case "image", "image_url", "input_image":
		s.image(v, l, depth)
	case "thinking":
		s.object(v, thinkingMember, l, depth)
	case "redacted_thinking":
		s.object(v, redactedMember, l, depth)
	case "reasoning":
		s.object(v, reasoningMember, l, depth)
	default:
		s.object(v, blockMember, l, depth)
	}
}

func blockMember(name string, _ gjson.Result) action {
	if name == "content" {
		return content
	}
	return common(name)
}

func thinkingMember(name string, v gjson.Result) action {
	if name == "signature" {
		return drop
	}
	return blockMember(name, v)
}

func redactedMember(name string, v gjson.Result) action {
	if name == "data" {
		return drop // thinking that its provider encrypted: unreadable, like a signature
	}
	return thinkingMember(name, v)
}

func reasoningMember(name string, v gjson.Result) action {
	if name == "encrypted_content" {
		return drop
	}
	return thinkingMember(name, v)
}
