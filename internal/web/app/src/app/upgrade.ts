const key = 'tandian.reloaded'
const pause = 60_000 // ms in which the page is reloaded once

/**
 * Reloads the page once where a part of it is not there any more: the server has a newer build than
 * this tab.
 */
export function reloadOnUpgrade(): void {
  window.addEventListener('vite:preloadError', (event) => {
    const last = Number(sessionStorage.getItem(key) ?? 0)
    if (Date.now() - last < pause) return // it is not the upgrade: the error shows
    event.preventDefault()
    sessionStorage.setItem(key, String(Date.now()))
    window.location.reload()
  })
}
