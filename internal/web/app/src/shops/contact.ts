/** Returns the tel: URL of the first number in a text; null if there is none. */
export function phoneUrl(phone: string): string | null {
  const number = phone.split(/[;,/]/, 1)[0]!.replace(/[^\d+*#]/g, '')
  return /\d{3}/.test(number) ? `tel:${number}` : null
}

/** Returns a website that is safe to link to, with a short name; null for other URLs. */
export function websiteLink(text: string): { readonly url: string; readonly name: string } | null {
  try {
    const url = new URL(text)
    if (url.protocol !== 'https:' && url.protocol !== 'http:') return null
    return { url: url.href, name: url.host.replace(/^www\./, '') }
  } catch {
    return null
  }
}
