import { lazy, type ComponentType, type LazyExoticComponent } from 'react'

import { answers, lost, onReturn } from '@/live/network'

import { ofTheTab } from './shelf'

const key = 'tandian.reloaded'
let reloading = false // also for what is missed with it
const pause = 60_000 // ms in which the page is reloaded once

/**
 * A screen that is loaded when it is opened. Without a network it waits for one. Where the server
 * has no such file it is of a newer build than this tab: the page is loaded anew, once.
 */
export function screen<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(async () => ({ default: await loaded(load) }))
}

async function loaded<Screen>(load: () => Promise<Screen>): Promise<Screen> {
  try {
    return await load()
  } catch (error) {
    if (await answers()) return anew(error)
  }
  const back = new Promise<void>((resolve) => {
    const forget = onReturn(() => {
      forget()
      resolve()
    })
  })
  lost()
  await back
  try {
    return await load()
  } catch (error) {
    return anew(error) // some browsers remember that it was not there
  }
}

/** Loads the page anew, unless that was just done and did not help: then the error stands. */
function anew(error: unknown): Promise<never> {
  const last = Number(ofTheTab.getItem(key) ?? 0)
  if (!reloading && Date.now() - last < pause) throw error
  reloading = true
  ofTheTab.setItem(key, String(Date.now()))
  window.location.reload()
  return new Promise(() => undefined) // the page ends here
}
