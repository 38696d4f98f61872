package visit

import "strings"

// botWords returns the names of bots in user agents: whole words, or the ends of words, as
// in Googlebot. Programs such as curl are API clients, and headless browsers are browsers.
func botWords() [11]string {
	return [...]string{
		"bot", "bots", "crawler", "spider", "slurp", "scraper", "archiver", "externalhit",
		"bingpreview", "mediapartners", "feedfetcher",
	}
}

// IsBot reports whether a user agent identifies itself as a bot.
func IsBot(agent string) bool {
	for begin := 0; begin < len(agent); {
		end := begin
		for end < len(agent) && letter(agent[end]) {
			end++
		}
		if end-begin >= 3 && isBotWord(agent[begin:end]) {
			return true
		}
		begin = end + 1
	}
	return false
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isBotWord(word string) bool {
	for _, of := range botWords() {
		if len(word) >= len(of) && strings.EqualFold(word[len(word)-len(of):], of) {
			return !strings.EqualFold(word, "cubot") // a phone
		}
	}
	return false
}
