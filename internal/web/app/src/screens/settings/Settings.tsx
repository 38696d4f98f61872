import { setTheme, useTheme, type Theme } from '@/app/theme'
import { setLanguage, useLanguage, type Language } from '@/i18n/language'
import { texts } from '@/i18n/texts'
import { useSession } from '@/session/session'
import { Labelled } from '@/ui/Field'
import { Screen } from '@/ui/Screen'

import css from './Settings.module.css'

const useTexts = texts(
  {
    title: 'Settings',
    language: 'Language',
    theme: 'Theme',
    system: 'System default',
    light: 'Light',
    dark: 'Dark',
    playground: 'API playground (for developers)',
  },
  {
    title: '设置',
    language: '语言',
    theme: '外观',
    system: '跟随系统',
    light: '浅色',
    dark: '深色',
    playground: 'API 调试台（面向开发者）',
  },
)

/** Language and theme, stored in the browser. */
export function Settings() {
  const t = useTexts()
  const language = useLanguage()
  const theme = useTheme()
  const session = useSession()
  return (
    <Screen title={t.title} backTo={session === null ? '/signin' : '/me'}>
      <div className={css.settings}>
        <Labelled label={t.language}>
          {(inputProps) => (
            <select
              {...inputProps}
              value={language}
              onChange={(event) => setLanguage(event.target.value as Language)}
            >
              <option value="zh" lang="zh-CN">
                中文
              </option>
              <option value="en" lang="en">
                English
              </option>
            </select>
          )}
        </Labelled>
        <Labelled label={t.theme}>
          {(inputProps) => (
            <select
              {...inputProps}
              value={theme}
              onChange={(event) => setTheme(event.target.value as Theme)}
            >
              <option value="system">{t.system}</option>
              <option value="light">{t.light}</option>
              <option value="dark">{t.dark}</option>
            </select>
          )}
        </Labelled>
        <a href="/playground">{t.playground}</a>
      </div>
    </Screen>
  )
}
