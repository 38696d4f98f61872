import { useEffect, useRef } from 'react'

/** Does something again and again while the page is seen; in the background it rests. */
export function useEvery(ms: number, act: () => void): void {
  const latest = useRef(act)
  useEffect(() => {
    latest.current = act
  })
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') latest.current()
    }, ms)
    return () => clearInterval(timer)
  }, [ms])
}
